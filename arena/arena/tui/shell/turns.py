"""Work for a thread that is asked for again and again: one at a time, and of those that wait the newest."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

from arena.tui.shell.wanted import still_wanted

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.dom import DOMNode


class Turns:
    """Runs work for a screen; nothing is cancelled, since a thread cannot be."""

    def __init__(self, node: DOMNode, name: str) -> None:
        """Make it.

        Args:
            node: whose workers do the work.
            name: of the worker.
        """
        self._node = node
        self._name = name
        self._lock = Lock()
        self._next: Callable[[], None] | None = None
        self._is_running = False

    def run(self, work: Callable[[], None]) -> None:
        """Do `work` when what is being done is; what has been waiting for that is left out."""
        with self._lock:
            self._next = work
            is_first, self._is_running = not self._is_running, True
        if is_first:
            self._node.run_worker(self._go, name=self._name, group=self._name, thread=True)

    def _go(self) -> None:
        is_wanted = still_wanted()
        while (work := self._take()) is not None:
            if is_wanted():
                work()

    def _take(self) -> Callable[[], None] | None:
        with self._lock:
            work, self._next = self._next, None
            self._is_running = work is not None
            return work

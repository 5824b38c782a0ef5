"""What viewers hear of a bot that is still thinking: the newest of its remarks, twice a second."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_News = TypeVar("_News")

_INTERVAL_S = 0.5
"""Seconds between two remarks of one match."""


class NewsGate(Generic[_News]):
    """Passes on at most two remarks a second; of those that come between, the newest."""

    def __init__(
        self, pass_on: Callable[[int, _News], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Make an open gate.

        Args:
            pass_on: called as `pass_on(ply, remark)`.
            clock: gives seconds.
        """
        self._pass_on = pass_on
        self._clock = clock
        self._opens_at = clock()
        self._pending: tuple[int, Callable[[], _News]] | None = None

    def offer(self, ply: int, make: Callable[[], _News]) -> None:
        """Take a remark in place of one that waits, for the next pulse.

        Args:
            ply: of the position it is about.
            make: gives it, if it is passed on at all.
        """
        self._pending = (ply, make)

    def pulse(self) -> None:
        """Pass on what waits, if it is time."""
        if self._pending is not None and (now := self._clock()) >= self._opens_at:
            ply, make = self._pending
            self._pending = None
            self._opens_at = now + _INTERVAL_S
            self._pass_on(ply, make())

    def drop(self) -> None:
        """Forget what waits: the move is there, and its final thoughts with it."""
        self._pending = None

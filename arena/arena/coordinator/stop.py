"""Signals to a run: the first Ctrl-C finishes running matches, the second ends them at once."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import FrameType
    from typing import Self


class StopSignals:
    """Records SIGINT, SIGTERM and SIGHUP as requests that the coordinator polls, within a `with` block."""

    def __init__(self) -> None:
        self.request = ""
        """Empty, stop (finish running matches) or abort (end them now)."""
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        """Install the signal handlers."""
        # These come from a shutdown or a closed terminal, which does not wait for running matches.
        hard = [signal.SIGTERM] + ([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])
        self._before = {number: signal.signal(number, self._abort) for number in hard}
        self._before[signal.SIGINT] = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        """Restore the previous signal handlers."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        # Python calls handlers between any two instructions, even within a transaction, so they only set a
        # text.
        self.request = "abort" if self.request else "stop"

    def _abort(self, _number: int, _frame: FrameType | None) -> None:
        self.request = "abort"

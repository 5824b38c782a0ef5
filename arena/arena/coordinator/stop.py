"""What signals ask of a run: the first Ctrl-C lets running matches end, the second ends them now."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import FrameType
    from typing import Self


class StopSignals:
    """While it is entered, SIGINT, SIGTERM and SIGHUP become wishes that the coordinator reads."""

    def __init__(self) -> None:
        self.wish = ""
        """Nothing, stop (finish running matches) or abort (end them now)."""
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        """Take the signals over."""
        hard = [signal.SIGTERM] + ([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])
        self._before = {number: signal.signal(number, self._abort) for number in hard}
        self._before[signal.SIGINT] = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        """Give the signals back."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        self.wish = "abort" if self.wish else "stop"

    def _abort(self, _number: int, _frame: FrameType | None) -> None:
        self.wish = "abort"

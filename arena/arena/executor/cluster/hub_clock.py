"""How far the clock of the hub is ahead of that of this process, which may be set or drift meanwhile."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from arena.executor.cluster.messages import AskTime

if TYPE_CHECKING:
    from arena.executor.cluster.messages import HubTime

ASK_S: Final = 60.0
"""Seconds between two questions: a clock that nobody sets gains or loses a few milliseconds in that time."""


class HubClock:
    """Asks for the time of the hub again and again."""

    def __init__(self) -> None:
        """Start without knowing it."""
        self.ahead = 0.0
        """Seconds by which the clock of the hub is ahead of ours."""
        self._has_heard = False
        self._asked_at = 0.0

    @property
    def is_due(self) -> bool:
        """Whether the next question is due."""
        return time.monotonic() - self._asked_at >= ASK_S

    def ask(self) -> AskTime:
        """Return a question for the hub."""
        self._asked_at = time.monotonic()
        return AskTime(time.time())

    def hear(self, answer: HubTime) -> None:
        """Learn from an answer."""
        # The hub answered between question and answer; nothing says when, and each of the two messages may
        # have waited for a process that was stopped for seconds.
        least, most = answer.now - time.time(), answer.now - answer.asked_at
        if least > most:
            # Our clock was set back meanwhile.
            return
        # So a slow answer never makes a better value worse.
        self.ahead = min(max(self.ahead, least), most) if self._has_heard else (least + most) / 2
        self._has_heard = True

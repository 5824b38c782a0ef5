"""Records the messages to and from one bot during one match, with their times."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

from arena.referee.bot_output import BotOutput

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_BYTES: Final = 1 << 18
"""Bytes kept per bot; beyond that the oldest messages are dropped. A long match needs a tenth of it."""


class Said(NamedTuple):
    """One message of the dialogue."""

    at: float
    """Time at which it was sent or had arrived, by `time.monotonic`."""
    is_sent: bool
    """Whether the arena sent it; otherwise the bot did."""
    line: bytes


class WireLog:
    """The messages of one match; cleared at the start of the next."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        # Plain tuples, because making objects between a question and its answer would cost the bot time.
        self._said: deque[tuple[float, bool, bytes]] = deque()
        self._num_bytes = 0
        self.num_dropped = 0
        """Number of the oldest messages that were dropped."""
        self.output = BotOutput()
        """What the bot printed during the match."""

    def __iter__(self) -> Iterator[Said]:
        """Yield the kept messages, oldest first."""
        return map(Said._make, self._said)

    def begin(self) -> None:
        """Discard the messages of the previous match."""
        self._said.clear()
        self._num_bytes = self.num_dropped = 0
        self.output.begin()

    def add(self, at: float, line: bytes, *, is_sent: bool) -> None:
        """Record a message."""
        self._said.append((at, is_sent, line))
        self._num_bytes += len(line)
        while self._num_bytes > self._max_bytes and len(self._said) > 1:
            self._num_bytes -= len(self._said.popleft()[2])
            self.num_dropped += 1

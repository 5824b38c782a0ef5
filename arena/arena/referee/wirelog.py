"""What was said over the pipes of one bot in one match, both ways, with the times."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

from arena.referee.output import BotOutput

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_BYTES: Final = 1 << 18
"""Kept of one bot; of more, the oldest messages go. A long match is a tenth of it."""


class Said(NamedTuple):
    """One message."""

    at: float
    """When it was sent, or had arrived, by `time.monotonic`."""
    is_sent: bool
    """Whether the bot was told it; else it said it."""
    line: bytes


class WireLog:
    """The messages of a match; begun anew with each."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        # Plain tuples: between a question and its answer nothing should be made that need not.
        self._said: deque[tuple[float, bool, bytes]] = deque()
        self._num_bytes = 0
        self.num_dropped = 0
        """How many of the oldest are gone."""
        self.output = BotOutput()
        """What the bot printed meanwhile."""

    def __iter__(self) -> Iterator[Said]:
        """Give what is left, oldest first."""
        return map(Said._make, self._said)

    def begin(self) -> None:
        """Forget the match before."""
        self._said.clear()
        self._num_bytes = self.num_dropped = 0
        self.output.begin()

    def add(self, at: float, line: bytes, *, is_sent: bool) -> None:
        """Keep a message."""
        self._said.append((at, is_sent, line))
        self._num_bytes += len(line)
        while self._num_bytes > self._max_bytes and len(self._said) > 1:
            self._num_bytes -= len(self._said.popleft()[2])
            self.num_dropped += 1

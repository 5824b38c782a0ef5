"""What a bot prints during one match, up to a limit, with the ply at which it was read."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING, Final, Self

from typing_extensions import override

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_BYTES: Final = 1 << 18
"""Bytes kept per bot and match, from the start of the output; the evidence of a fault has its end."""


class BotOutput:
    """The bytes that a bot prints during a match; cleared at the start of the next."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        # Lines are split after the match; while a bot thinks, bytes are only appended.
        self._chunks: list[tuple[int, bytearray]] = []
        self._num_bytes = 0
        self.num_dropped = 0
        """Number of bytes discarded beyond the limit."""
        self.ply = 0
        """Number of the ply that the bot was last asked for, from 1; 0 before the first question."""

    def begin(self) -> None:
        """Discard the output of the previous match."""
        self._chunks.clear()
        self._num_bytes = self.num_dropped = self.ply = 0

    def add(self, data: bytes) -> None:
        """Append printed bytes, up to the limit."""
        kept = data[: self._max_bytes - self._num_bytes]
        self.num_dropped += len(data) - len(kept)
        if not kept:
            return
        self._num_bytes += len(kept)
        if self._chunks and self._chunks[-1][0] == self.ply:
            self._chunks[-1][1].extend(kept)
        else:
            self._chunks.append((self.ply, bytearray(kept)))

    def lines(self) -> list[tuple[int, str]]:
        """Return (ply, text) of each line, not cleaned; a line belongs to the ply in which it began."""
        lines: list[tuple[int, str]] = []
        rest, begun = b"", 0
        for ply, chunk in self._chunks:
            if not rest:
                begun = ply
            *whole, rest = (rest + chunk).split(b"\n")
            for line in whole:
                lines.append((begun, _text(line)))
                begun = ply
        return [*lines, (begun, _text(rest))] if rest else lines


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace").removesuffix("\r")


class _BotStream(io.TextIOBase):
    """Replaces `sys.stdout` and `sys.stderr` while bots run in this process."""

    encoding = "utf-8"

    def __init__(self, speaker: Callable[[], BotOutput]) -> None:
        super().__init__()
        self._speaker = speaker

    @override
    def writable(self) -> bool:
        return True

    @override
    def write(self, text: str, /) -> int:
        self._speaker().add(text[:MAX_BYTES].encode("utf-8", "replace"))
        return len(text)


class Capture:
    """Context manager that sends prints of bots in this process to the output of the bot whose turn it is."""

    def __init__(self, speaker: Callable[[], BotOutput]) -> None:
        """Prepare the capture; `speaker` returns the output of the bot that is being asked."""
        self._stream = _BotStream(speaker)
        self._before = sys.stdout, sys.stderr

    def __enter__(self) -> Self:
        self._before = sys.stdout, sys.stderr
        sys.stdout = sys.stderr = self._stream
        return self

    def __exit__(self, *_: object) -> None:
        sys.stdout, sys.stderr = self._before

    def outside(self, function: Callable[[], bool]) -> Callable[[], bool]:
        """Wrap a function of the arena so that its own prints are not captured."""

        def called() -> bool:
            self.__exit__()
            try:
                return function()
            finally:
                self.__enter__()

        return called

"""What a person asks for at the board, as the payload of a command in the store."""

from __future__ import annotations

import msgspec


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """Which match and which position a person had before them; what is past is refused."""

    number: int
    """Of the match within its tournament."""
    ply: int
    """How many actions it had."""
    action: int | None = None
    """What to play, of a `move`."""

    def to_text(self) -> str:
        """Write it as a payload."""
        return msgspec.json.encode(self).decode()


def read_wish(payload: str) -> Wish | None:
    """Read a payload; None where it is none."""
    try:
        return msgspec.json.decode(payload, type=Wish)
    except (msgspec.DecodeError, RecursionError):
        return None

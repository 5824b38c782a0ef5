"""Encodes the remarks of bots; a module of its own, as workers use it and load no database."""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING, Any, Final, Protocol

from arena_db.errors import RefusedError
from arena_db.records import Remark

if TYPE_CHECKING:
    from collections.abc import Sequence

_DIGITS: Final = 5
"""Decimal digits of a probability; the up to 17 of a float would take most of the space."""
_MOST: Final = 1 << 26
"""Maximum number of bytes of the remarks of one match before compression."""


class RemarkFields(Protocol):
    """What a bot reported, with the fields of `Remark`."""

    @property
    def policy(self) -> tuple[tuple[int, float], ...] | None:
        """Pairs of action and probability."""
        ...

    @property
    def visits(self) -> tuple[tuple[int, int], ...] | None:
        """Pairs of action and number of visits."""
        ...

    @property
    def pv(self) -> tuple[int, ...] | None:
        """The expected actions, beginning with the bot's own."""
        ...

    @property
    def nodes(self) -> int | None:
        """Number of search nodes."""
        ...

    @property
    def depth(self) -> int | None:
        """Search depth in plies."""
        ...

    @property
    def text(self) -> str | None:
        """Free text for people."""
        ...


def pack_remarks(said: Sequence[RemarkFields | None]) -> bytes:
    """Return the remarks of a match, one per action, as compressed JSON; empty if there are none."""
    rows = [None if remark is None else _row(remark) for remark in said]
    if not any(rows):
        return b""
    return zlib.compress(json.dumps([row or None for row in rows], separators=(",", ":")).encode())


def unpack_remarks(packed: bytes) -> tuple[Remark | None, ...]:
    """Return the remarks encoded by `pack_remarks`, with policies rounded to five digits.

    Raises:
        RefusedError: it was not encoded by `pack_remarks`.
    """
    if not packed:
        return ()
    try:
        rows: list[dict[str, Any] | None] = json.loads(inflate(packed))
        return tuple(None if row is None else _remark(row) for row in rows)
    except (zlib.error, ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise RefusedError(f"remarks of a match cannot be read: {error}") from error


def inflate(packed: bytes) -> bytes:
    """Return the decompressed content.

    Raises:
        ValueError: it is larger than anything that is stored, or truncated.
        zlib.error: it is damaged.
    """
    reader = zlib.decompressobj()
    content = reader.decompress(packed, _MOST)
    if not reader.eof:
        raise ValueError(f"it is truncated, or has more than {_MOST} bytes")
    return content


def _row(remark: RemarkFields) -> dict[str, Any]:
    """Return a remark as a JSON object with one-letter keys."""
    policy = remark.policy
    said: dict[str, Any] = {
        "p": None if policy is None else [(action, round(share, _DIGITS)) for action, share in policy],
        "v": remark.visits,
        "l": remark.pv,
        "n": remark.nodes,
        "d": remark.depth,
        "t": remark.text or None,
    }
    return {key: value for key, value in said.items() if value is not None}


def _remark(row: dict[str, Any]) -> Remark:
    return Remark(
        policy=tuple((int(action), float(share)) for action, share in row["p"]) if "p" in row else None,
        visits=tuple((int(action), int(num)) for action, num in row["v"]) if "v" in row else None,
        pv=tuple(map(int, row["l"])) if "l" in row else None,
        nodes=int(row["n"]) if "n" in row else None,
        depth=int(row["d"]) if "d" in row else None,
        text=str(row["t"]) if "t" in row else None,
    )

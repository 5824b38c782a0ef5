"""Packs what a match is made of into bytes, and hashes the whole record."""

from __future__ import annotations

import math
import struct
from hashlib import sha256
from json import JSONEncoder
from typing import TYPE_CHECKING, Final

from arena_db.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence

_WIDE: Final = 256
"""With more actions than this one takes two bytes."""

_TIME_FORMATS: Final = {1: "B", 2: "H", 4: "I", 8: "Q"}

_encode: Final = JSONEncoder(separators=(",", ":")).encode


def pack_actions(actions: Sequence[int], num_actions: int) -> bytes:
    """Return one byte per action, two (little-endian) in a game of more than 256.

    Raises:
        RefusedError: an action is not in `[0, num_actions)`.
    """
    if actions and not 0 <= min(actions) <= max(actions) < num_actions:
        raise RefusedError(f"an action is not in [0, {num_actions}): {tuple(actions)}")
    return bytes(actions) if num_actions <= _WIDE else struct.pack(f"<{len(actions)}H", *actions)


def unpack_actions(blob: bytes, num_actions: int) -> tuple[int, ...]:
    """Return the actions that were packed for a game of `num_actions`."""
    return tuple(blob) if num_actions <= _WIDE else struct.unpack(f"<{len(blob) // 2}H", blob)


def pack_times(times_ms: Sequence[int]) -> bytes:
    """Return the width of a number in bytes, then the numbers, little-endian; nothing where all are 0.

    Raises:
        RefusedError: a time is negative or takes more than eight bytes.
    """
    if not any(times_ms):
        return b""
    longest = max(times_ms)
    width = 1 if longest < 1 << 8 else 2 if longest < 1 << 16 else 4 if longest < 1 << 32 else 8
    try:
        return struct.pack(f"<B{len(times_ms)}{_TIME_FORMATS[width]}", width, *times_ms)
    except struct.error as error:
        raise RefusedError(f"times of moves are not in [0, 2^64) ms: {tuple(times_ms)}") from error


def unpack_times(blob: bytes, num: int) -> tuple[int, ...]:
    """Return the `num` times that were packed."""
    return struct.unpack_from(f"<{num}{_TIME_FORMATS[blob[0]]}", blob, 1) if blob else (0,) * num


def pack_claims(claims: Sequence[float | None]) -> bytes:
    """Return little-endian four-byte floats, NaN where nothing was claimed; nothing where nothing ever was.

    Raises:
        RefusedError: a claim is not in [-1, 1].
    """
    given = [claim for claim in claims if claim is not None]
    if not given:
        return b""
    if not all(-1 <= claim <= 1 for claim in given):
        raise RefusedError(f"a claimed value is not in [-1, 1]: {given}")
    return struct.pack(f"<{len(claims)}f", *(math.nan if claim is None else claim for claim in claims))


def unpack_claims(blob: bytes, num: int) -> tuple[float | None, ...]:
    """Return the `num` claims that were packed, rounded to four-byte floats."""
    if not blob:
        return (None,) * num
    return tuple(None if math.isnan(claim) else claim for claim in struct.unpack(f"<{num}f", blob))


def record_hash(fields: Sequence[str | float], blobs: Sequence[bytes]) -> bytes:
    """Return the SHA-256 of a match: plain fields and lengths of the blobs as JSON, then the blobs."""
    head = _encode([*fields, *map(len, blobs)])
    return sha256(b"".join((head.encode(), *blobs))).digest()

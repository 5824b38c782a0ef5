"""Packs the parts of a match into bytes, and hashes the whole record.

Packed values are `bytearray`s: SQLite's driver binds them directly, while for each `bytes` it first looks for
an adapter, which costs more than all the rest of a row.
"""

from __future__ import annotations

import math
import struct
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from arena_db.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence

_WIDE: Final = 256
"""Games with more actions than this use two bytes per action."""

_TIME_FORMATS: Final = {1: "B", 2: "H", 4: "I", 8: "Q"}

_BYTES: Final = bytes(range(256))
# There are many NaNs with other bytes; times and claims that are unknown are hashed as this one.
_NAN: Final = math.nan

# Texts are hashed one after the other. Their lengths come before them; otherwise a character could move from
# one text to its neighbour, and the hash would stay the same.
# Little-endian and without padding (`<`), so that all machines compute the same hash.
_SAME: Final = struct.Struct("<5q6I")
"""Five numbers and the lengths of six texts, in characters."""
_OWN: Final = struct.Struct("<7qd6I")
"""Seven numbers, the starting time, the lengths of two texts and of four blobs."""
_SETTING: Final = struct.Struct("<2d3I")
"""Two times, NaN for none, and the lengths of three texts."""


def pack_actions(actions: Sequence[int], num_actions: int) -> bytearray:
    """Return one byte per action, two (little-endian) in a game with more than 256 actions.

    Raises:
        RefusedError: an action is not in `[0, num_actions)`.
    """
    try:
        if num_actions <= _WIDE:
            # Raises ValueError for an int that is no byte.
            packed = bytearray(actions)
            # Deletes all valid bytes at once, without a loop in Python; what remains is not an action.
            is_known = not packed.translate(None, _BYTES[:num_actions])
        else:
            packed = bytearray(struct.pack(f"<{len(actions)}H", *actions))
            is_known = max(actions, default=0) < num_actions
    except (ValueError, struct.error) as error:
        raise RefusedError(f"an action is not in [0, {num_actions}): {tuple(actions)}") from error
    if not is_known:
        raise RefusedError(f"an action is not in [0, {num_actions}): {tuple(actions)}")
    return packed


def unpack_actions(blob: bytes, num_actions: int) -> tuple[int, ...]:
    """Return the actions packed by `pack_actions` for a game of `num_actions`."""
    return tuple(blob) if num_actions <= _WIDE else struct.unpack(f"<{len(blob) // 2}H", blob)


def pack_times(times_ms: Sequence[int]) -> bytearray:
    """Return the width of a number in bytes, then the numbers, little-endian; empty if all are 0.

    Raises:
        RefusedError: a time is negative or takes more than eight bytes.
    """
    try:
        # Most times fit in one byte each; trying it is the fastest test.
        packed = bytearray(times_ms)
    except ValueError:
        pass
    else:
        if packed.count(0) == len(packed):
            return bytearray()
        # The first byte is the width of the numbers.
        packed.insert(0, 1)
        return packed
    longest = max(times_ms)
    width = 2 if longest < 1 << 16 else 4 if longest < 1 << 32 else 8
    try:
        return bytearray(struct.pack(f"<B{len(times_ms)}{_TIME_FORMATS[width]}", width, *times_ms))
    except (ValueError, struct.error) as error:
        raise RefusedError(f"times of moves are not in [0, 2^64) ms: {tuple(times_ms)}") from error


def unpack_times(blob: bytes, num: int) -> tuple[int, ...]:
    """Return the `num` times packed by `pack_times`, in milliseconds."""
    return struct.unpack_from(f"<{num}{_TIME_FORMATS[blob[0]]}", blob, 1) if blob else (0,) * num


def pack_claims(claims: Sequence[float | None]) -> bytearray:
    """Return little-endian four-byte floats, NaN for no claim; empty if there is no claim at all.

    Raises:
        RefusedError: a claim is not in [-1, 1].
    """
    if claims.count(None) == len(claims):
        return bytearray()
    given = [claim for claim in claims if claim is not None]
    # A NaN makes min and max meaningless, but it also makes the sum NaN.
    if not (min(given) >= -1 and max(given) <= 1) or math.isnan(sum(given)):
        raise RefusedError(f"a claimed value is not in [-1, 1]: {given}")
    values = given if len(given) == len(claims) else [_NAN if claim is None else claim for claim in claims]
    return bytearray(struct.pack(f"<{len(claims)}f", *values))


def unpack_claims(blob: bytes, num: int) -> tuple[float | None, ...]:
    """Return the `num` claims packed by `pack_claims`, rounded to four-byte floats."""
    if not blob:
        return (None,) * num
    return tuple(None if math.isnan(claim) else claim for claim in struct.unpack(f"<{num}f", blob))


def same_part(numbers: tuple[int, ...], texts: tuple[str, ...]) -> bytes:
    """Return the hashed part of a record that it shares with many others.

    Args:
        numbers: tournament, seats of both bots, rated, is_final.
        texts: identities of both bots, outcome, termination, tier, versions.
    """
    # Lengths in characters separate the texts as well as lengths in bytes, and the texts are encoded once,
    # together.
    return _SAME.pack(*numbers, *map(len, texts)) + "".join(texts).encode()


def setting_part(idle_cpu_ms: tuple[float | None, float | None], texts: tuple[str | None, ...]) -> bytes:
    """Return the bytes of the columns that matches stored before revision 0005 lack; empty if all are NULL.

    A record without these facts keeps the hash that older versions computed.

    Args:
        idle_cpu_ms: idle CPU milliseconds of the first and the second bot.
        texts: limits, runtimes of both bots.
    """
    if idle_cpu_ms == (None, None) and texts == (None, None, None):
        return b""
    times = (_NAN if time is None else time for time in idle_cpu_ms)
    known = [text or "" for text in texts]
    return _SETTING.pack(*times, *map(len, known)) + "".join(known).encode()


def record_hash(  # noqa: PLR0913, PLR0917 - it is called for every match: no object is made for it
    same: bytes,
    numbers: tuple[int, ...],
    started_at: float,
    reason: str,
    fault: str,
    blobs: tuple[bytes | bytearray, bytes | bytearray, bytes | bytearray, bytes | bytearray],
    setting: bytes = b"",
) -> bytes:
    """Return the SHA-256 of a match over everything stored of it: numbers, lengths, texts and blobs.

    Args:
        same: result of `same_part`.
        numbers: number, attempt, num_opening, seed_first, seed_second, duration_ms, length of `same` in
            bytes.
        started_at: in UTC seconds.
        reason: how the match ended, as text.
        fault: the evidence of a fault, as JSON; empty without one.
        blobs: actions, times, claims, match hash.
        setting: result of `setting_part`.

    Raises:
        RefusedError: a number takes more than eight bytes.
    """
    actions, times, claims, match_hash = blobs
    sizes = (len(reason), len(fault), len(actions), len(times), len(claims), len(match_hash))
    try:
        # `numbers` includes the length of `same`, so that no byte can move between the first two parts.
        own = _OWN.pack(*numbers, started_at, *sizes)
    except struct.error as error:
        raise RefusedError(f"a number of a match is too large: {numbers}") from error
    texts = (reason + fault).encode()
    return sha256(b"".join((same, own, texts, actions, times, claims, match_hash, setting))).digest()

"""The hash of a stored match, computed in one way for checks and merges."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from arena_db.codec import record_hash, same_part, setting_part
from arena_db.models import matches

if TYPE_CHECKING:
    from collections.abc import Sequence

MATCH_COLUMNS: Final = tuple(column.name for column in matches.c)
"""Names of the columns of a match, in table order."""


def from_row(*names: str) -> itemgetter[Any]:
    """Return a getter of these columns of a row of `matches`; names would be slow for a million rows."""
    return itemgetter(*(MATCH_COLUMNS.index(name) for name in names))


KIND: Final = from_row("tournament_id", "first_seat", "second_seat", "rated", "is_final")
"""Extracts the numbers that a match shares with many others."""
_TEXTS: Final = from_row("outcome", "termination", "tier")
_SETTING: Final = from_row("limits", "runtime_first", "runtime_second")
_NUMBERS: Final = from_row("number", "attempt", "num_opening", "seed_first", "seed_second", "duration_ms")
_BLOBS: Final = from_row("actions", "times", "claims", "match_hash")
_IDLE: Final = from_row("idle_cpu_first_ms", "idle_cpu_second_ms")
_OWN: Final = from_row("started_at", "reason", "fault")


def row_hash(row: Sequence[Any], identities: tuple[str, str], versions: str) -> bytes:
    """Return the hash of a stored match; see `record_hash`.

    Args:
        row: the columns of its row in table order; more may follow.
        identities: identities of the bot that moved first and of the other.
        versions: the text that `versions_id` refers to.
    """
    return hash_with(same_of(row, identities, versions), row)


def same_of(row: Sequence[Any], identities: tuple[str, str], versions: str) -> bytes:
    """Return the hashed part of a match that it shares with many others; see `row_hash`."""
    return same_part(KIND(row), (*identities, *_TEXTS(row), versions))


def hash_with(same: bytes, row: Sequence[Any]) -> bytes:
    """Return the hash of a match whose `same_of` is given."""
    setting = setting_part(_IDLE(row), _SETTING(row))
    started_at, reason, fault = _OWN(row)
    return record_hash(same, (*_NUMBERS(row), len(same)), started_at, reason, fault, _BLOBS(row), setting)

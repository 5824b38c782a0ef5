"""Stores the remarks that bots made besides their claimed values, and reads them."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Final

from sqlalchemy import insert, select

from arena_db.dialects import driver_text
from arena_db.errors import DamagedError, RefusedError
from arena_db.models import matches, remarks
from arena_db.remark_codec import unpack_remarks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sqlalchemy import Connection

    from arena_db.records import MatchRecord, Remark

CHUNK: Final = 500
"""Number of matches per query."""


def store(connection: Connection, records: Iterable[MatchRecord]) -> None:
    """Insert the remarks of matches that were inserted in this transaction."""
    rows = [
        (
            record.tournament,
            record.number,
            record.attempt,
            bytearray(record.remarks),
            bytearray(content_hash((record.tournament, record.number, record.attempt), record.remarks)),
        )
        for record in records
        if record.remarks
    ]
    if rows:
        names = [column.name for column in remarks.c]
        connection.exec_driver_sql(driver_text(insert(remarks), connection.dialect.name, names), rows)


def find(connection: Connection, numbers: Sequence[int]) -> dict[int, tuple[Remark | None, ...]]:
    """Return the remarks of matches by id; matches without remarks are absent."""
    packed = find_packed(connection, numbers)
    return {number: _unpacked(number, content) for number, content in packed.items()}


def find_packed(connection: Connection, numbers: Sequence[int]) -> dict[int, bytes]:
    """Return remarks of matches by id, encoded as in `MatchRecord.remarks`; empty ones are absent."""
    found: dict[int, bytes] = {}
    for start in range(0, len(numbers), CHUNK):
        chosen = connection.execute(_ALL.where(matches.c.id.in_(numbers[start : start + CHUNK])))
        found.update((number, content) for number, content in chosen)
    return found


def find_many(connection: Connection, numbers: Sequence[int]) -> dict[int, tuple[Remark | None, ...]]:
    """Return remarks as `find` does, for ascending neighbouring ids by one range query."""
    if not numbers:
        return {}
    wanted = frozenset(numbers)
    rows = connection.execute(_ALL.where(matches.c.id.between(numbers[0], numbers[-1])))
    return {number: _unpacked(number, content) for number, content in rows if number in wanted}


def _unpacked(number: int, content: bytes) -> tuple[Remark | None, ...]:
    try:
        return unpack_remarks(content)
    except RefusedError as error:
        raise DamagedError(f"match #{number}: {error}") from error


def find_faults(connection: Connection) -> Iterator[str]:
    """Yield a sentence for remarks that contradict their hash, or belong to no match."""
    query = select(matches.c.id, remarks).outerjoin_from(remarks, matches, _OWN)
    for row in connection.execute(query, execution_options={"yield_per": 100}):
        if row.id is None:
            yield f"remarks of match {row.number} of tournament {row.tournament_id} belong to no stored match"
        elif row.content_hash not in {
            content_hash((row.tournament_id, row.number, row.attempt), row.content),
            # Versions up to 0.1 hashed the content alone, without the match it belongs to.
            sha256(row.content).digest(),
        }:
            yield f"the remarks of match #{row.id} are not as they were stored"


def content_hash(match: tuple[int, int, int], content: bytes) -> bytes:
    """Return the SHA-256 of remarks and of the match they belong to: tournament, number and attempt."""
    return sha256("/".join(map(str, match)).encode() + b"/" + content).digest()


_OWN: Final = (
    (matches.c.tournament_id == remarks.c.tournament_id)
    & (matches.c.number == remarks.c.number)
    & (matches.c.attempt == remarks.c.attempt)
)
_ALL: Final = select(matches.c.id, remarks.c.content).join_from(matches, remarks, _OWN)

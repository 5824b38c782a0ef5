"""Stores judges' analyses of matches, and reads them."""

from __future__ import annotations

import json
import zlib
from collections import defaultdict
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from arena_db.codec import unpack_actions
from arena_db.cold.thawing import missing_match
from arena_db.dialects import upsert
from arena_db.errors import DamagedError, RefusedError
from arena_db.judgements import JudgedAction, JudgedMatch, JudgedPly
from arena_db.judging import num_mistakes, read_rows
from arena_db.models import analyses, matches, tournaments
from arena_db.remarks import CHUNK

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection

    from arena_db.access import Access

__all__ = ["StoredAnalyses"]

_PARTS = 5
"""Number of fields in the row of an action; rows of versions without scores have three."""


def add(connection: Connection, analysis: JudgedMatch) -> None:
    """Insert an analysis; it replaces an earlier one by the same judge.

    Raises:
        RefusedError: there is no such match, or it has another number of actions.
    """
    query = (
        select(matches.c.actions, tournaments.c.num_actions)
        .join_from(matches, tournaments, tournaments.c.id == matches.c.tournament_id)
        .where(matches.c.id == analysis.match)
    )
    row = connection.execute(query).first()
    if row is None:
        raise missing_match(connection, analysis.match)
    num = len(unpack_actions(row.actions, row.num_actions))
    if num != len(analysis.plies):
        raise RefusedError(f"match {analysis.match} has {num} actions, but {len(analysis.plies)} are judged")
    values = {
        "match_id": analysis.match,
        "name": analysis.name,
        "content": _sealed(analysis),
        "made_at": analysis.made_at,
    }
    statement = upsert(analyses, connection.dialect.name).values(values)
    changed = {name: statement.excluded[name] for name in ("content", "made_at")}
    connection.execute(statement.on_conflict_do_update(index_elements=["match_id", "name"], set_=changed))


def find(
    connection: Connection, numbers: Sequence[int], name: str | None
) -> dict[int, tuple[JudgedMatch, ...]]:
    """Return the analyses of matches by id, each match's by name; matches without any are absent."""
    found: defaultdict[int, list[JudgedMatch]] = defaultdict(list)
    for start in range(0, len(numbers), CHUNK):
        query = select(analyses).where(analyses.c.match_id.in_(numbers[start : start + CHUNK]))
        if name is not None:
            query = query.where(analyses.c.name == name)
        for row in connection.execute(query.order_by(analyses.c.match_id, analyses.c.name)):
            identity, plies = _unpacked(row.match_id, row.content)
            found[row.match_id].append(
                JudgedMatch(
                    match=row.match_id, name=row.name, plies=plies, made_at=row.made_at, identity=identity
                )
            )
    return {number: tuple(some) for number, some in found.items()}


def find_many(connection: Connection, numbers: Sequence[int], name: str) -> dict[int, tuple[JudgedPly, ...]]:
    """Return one judge's analyses of matches with neighbouring ascending ids, by one range query."""
    if not numbers:
        return {}
    wanted = frozenset(numbers)
    near = analyses.c.match_id.between(numbers[0], numbers[-1])
    query = select(analyses.c.match_id, analyses.c.content).where(near, analyses.c.name == name)
    rows = connection.execute(query)
    return {number: _unpacked(number, content)[1] for number, content in rows if number in wanted}


def count_mistakes(connection: Connection, numbers: Sequence[int]) -> dict[int, int]:
    """Return the number of mistakes that the newest complete analysis of each match found, by match id."""
    found: dict[int, int] = {}
    for start in range(0, len(numbers), CHUNK):
        query = (
            select(analyses.c.match_id, analyses.c.content, matches.c.num_opening)
            .join_from(analyses, matches, matches.c.id == analyses.c.match_id)
            .where(analyses.c.match_id.in_(numbers[start : start + CHUNK]))
            .order_by(analyses.c.match_id, analyses.c.made_at, analyses.c.name)
        )
        # In the order of time, so that a newer complete analysis replaces an earlier one.
        for number, content, num_opening in connection.execute(query):
            num = num_mistakes(content, num_opening)
            if num is not None:
                found[number] = num
    return found


def losses_of(match: int, content: bytes) -> tuple[float | None, ...]:
    """Return by how much each action lowered the value, by a stored analysis; None if unknown.

    Raises:
        DamagedError: it cannot be decoded.
    """
    try:
        _, rows = read_rows(content)
        return tuple(None if row is None else _number(row[1]) for row in rows)
    except (zlib.error, ValueError, TypeError, KeyError, IndexError, RecursionError) as error:
        raise DamagedError(f"an analysis of match #{match} cannot be read: {error}") from error


def find_faults(connection: Connection) -> Iterator[str]:
    """Yield a sentence for each analysis that cannot be decoded, contradicts its digest, or has no match."""
    for row in connection.execute(select(analyses), execution_options={"yield_per": 1000}):
        try:
            _unpacked(row.match_id, row.content)
        except DamagedError as error:
            yield str(error)
            continue
        packed, digest = _parts(row.content)
        # Versions up to 0.1 stored no digest.
        if digest and digest != _digest(row.match_id, row.name, row.made_at, packed):
            yield f"an analysis of match #{row.match_id} is not as it was stored"


def _sealed(analysis: JudgedMatch) -> bytes:
    """Return an analysis compressed, followed by a digest that readers of the actions skip."""
    rows = [_row(ply) for ply in analysis.plies]
    # An analysis of the solver keeps the older form, a list alone.
    said: object = {"by": analysis.identity, "plies": rows} if analysis.identity else rows
    packed = zlib.compress(json.dumps(said, separators=(",", ":")).encode())
    return packed + _digest(analysis.match, analysis.name, analysis.made_at, packed)


def _row(ply: JudgedPly) -> list[object] | None:
    """Return a judged action as a JSON row; None if it is pending."""
    if not ply.is_judged:
        return None
    return [ply.value, ply.loss, ply.best, ply.scores, ply.line]


def content_for(match: int, name: str, made_at: float, content: bytes) -> bytes:
    """Return the content of a stored analysis for the same match in another store, with a new digest."""
    packed, _ = _parts(content)
    return packed + _digest(match, name, made_at, packed)


def _parts(content: bytes) -> tuple[bytes, bytes]:
    """Return the compressed part and the digest after it, empty if there is none."""
    reader = zlib.decompressobj()
    reader.decompress(content)
    # zlib stops at the end of its stream, so the length of the compressed part need not be stored.
    digest = reader.unused_data
    return content[: len(content) - len(digest)], digest


def _digest(match: int, name: str, made_at: float, packed: bytes) -> bytes:
    # A float, as it is read back: a time given as an integer would be written without its ".0".
    return sha256(json.dumps([match, name, float(made_at)]).encode() + packed).digest()


def _unpacked(match: int, content: bytes) -> tuple[str, tuple[JudgedPly, ...]]:
    try:
        identity, rows = read_rows(content)
        return identity, tuple(map(_ply, rows))
    except (zlib.error, ValueError, TypeError, KeyError, RecursionError) as error:
        raise DamagedError(f"an analysis of match #{match} cannot be read: {error}") from error


def _ply(row: list[Any] | None) -> JudgedPly:
    if row is None:
        return JudgedPly()
    value, loss, best, scores, line = row if len(row) == _PARTS else (*row, (), ())
    return JudgedPly(
        value=_number(value),
        loss=_number(loss),
        best=tuple(map(int, best)),
        scores=tuple(
            JudgedAction(int(action), _number(worth), None if distance is None else int(distance))
            for action, worth, distance in scores
        ),
        line=tuple(map(int, line)),
    )


def _number(given: object) -> float | None:
    # Floats first, because almost all values are floats, and pages about bots read 100,000 of them.
    if given is None or type(given) is float:
        return given
    return float(str(given))


class StoredAnalyses:
    """The analyses of matches by judges."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def add(self, analysis: JudgedMatch) -> None:
        """Store an analysis of a match; it replaces an earlier one by the same judge.

        Raises:
            RefusedError: there is no such match, it has another number of actions, or the name is too long.
        """
        with self._access.write() as connection:
            add(connection, analysis)

    def of(self, numbers: Sequence[int], *, name: str | None = None) -> dict[int, tuple[JudgedMatch, ...]]:
        """Return the stored analyses of the matches with these ids, of all judges or of one.

        Args:
            numbers: ids of matches.
            name: name of the judge; None for all judges.

        Raises:
            DamagedError: a stored analysis cannot be decoded.
        """
        return self._access.gather(numbers, lambda connection, some: find(connection, some, name))

    def mistakes(self, numbers: Sequence[int]) -> dict[int, int]:
        """Return the number of mistakes that the latest analysis of each match found, by id of the match.

        Matches without an analysis are absent.
        """
        return self._access.gather(numbers, count_mistakes)

"""Conditions on grades: whether judges graded a match, and how many mistakes they counted in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import ARRAY, BigInteger, all_, and_, any_, exists, func, literal, select, true, tuple_

from arena_db.judging import NUM_MISTAKES, num_mistakes
from arena_db.match_filter import SIGNS
from arena_db.models import analyses, matches
from arena_db.patterns import fits
from arena_db.remarks import CHUNK

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from sqlalchemy import ColumnElement, Connection

    from arena_db.match_filter import MatchFilter

_MOST_KNOWN: Final = 200_000
"""Maximum number of analyses whose mistakes are remembered, in about 25 MB."""
_DIGEST: Final = 32
"""Number of bytes at the end of the content of an analysis that are its digest."""

_known: dict[tuple[bytes, int], int | None] = {}
"""Number of mistakes by digest of the analysis and length of the opening; see `num_mistakes`."""


def is_about_grades(where: MatchFilter) -> bool:
    """Return whether a filter has conditions on grades."""
    return bool(where.mistakes) or where.judge is not None or where.is_graded is not None


def is_judged(
    connection: Connection, where: MatchFilter, others: Sequence[ColumnElement[bool]]
) -> ColumnElement[bool]:
    """Return whether one judge meets all conditions on grades, or that no judge graded the match.

    An interrupted analysis does not cover the whole match, so its mistakes are unknown and it meets no
    condition. SQLite calls a function of ours for each analysis. A server cannot: it has no function that
    decompresses them, so they are read and counted here, each of them once per process.

    Args:
        connection: to the store, in the transaction in which the condition is used.
        where: the filter.
        others: its other conditions on matches.
    """
    if connection.dialect.name != "sqlite":
        return _is_judged_on_server(connection, where, others)
    of_match = analyses.c.match_id == matches.c.id
    counted: ColumnElement[int] = getattr(func, NUM_MISTAKES)(analyses.c.content, matches.c.num_opening)
    is_complete = counted.is_not(None)
    said = [SIGNS[sign](counted, number) for sign, number in where.mistakes]
    if where.judge is not None:
        said.append(fits(analyses.c.name, where.judge))
    # The query around it may read analyses, too.
    is_said = exists().where(of_match, is_complete, *said).correlate(matches)
    if where.is_graded is not False:
        return is_said
    nobody = ~exists().where(of_match, is_complete).correlate(matches)
    return and_(nobody, is_said) if said else nobody


def _is_judged_on_server(
    connection: Connection, where: MatchFilter, others: Sequence[ColumnElement[bool]]
) -> ColumnElement[bool]:
    graded: set[int] = set()
    said: set[int] = set()
    for match, is_wanted_judge, num in _count(connection, where.judge, others):
        graded.add(match)
        if is_wanted_judge and all(SIGNS[sign](num, number) for sign, number in where.mistakes):
            said.add(match)
    is_said = matches.c.id == any_(_array(said))
    if where.is_graded is not False:
        return is_said
    nobody = matches.c.id != all_(_array(graded))
    return and_(nobody, is_said) if where.mistakes or where.judge is not None else nobody


def _array(numbers: Collection[int]) -> ColumnElement[Sequence[int]]:
    # One value: as separate parameters they would be limited to 65,535.
    return literal(sorted(numbers), ARRAY(BigInteger()))


def _count(
    connection: Connection, judge: str | None, others: Sequence[ColumnElement[bool]]
) -> Iterator[tuple[int, bool, int]]:
    """Yield match, whether the judge has a wanted name, and mistakes of each complete analysis."""
    digest = func.substr(analyses.c.content, func.greatest(1, func.length(analyses.c.content) - _DIGEST + 1))
    wanted = true() if judge is None else fits(analyses.c.name, judge)
    chosen = select(matches.c.id).where(*others)
    query = (
        select(analyses.c.match_id, analyses.c.name, digest, matches.c.num_opening, wanted)
        .join_from(analyses, matches, matches.c.id == analyses.c.match_id)
        .where(analyses.c.match_id.in_(chosen))
    )
    rows = connection.execute(query).all()
    if len(_known) > _MOST_KNOWN:
        _known.clear()
    keys = {(match, name): (digest, num_opening) for match, name, digest, num_opening, _ in rows}
    new = [place for place, key in keys.items() if key not in _known]
    for start in range(0, len(new), CHUNK):
        place = tuple_(analyses.c.match_id, analyses.c.name)
        contents = select(analyses.c.match_id, analyses.c.name, analyses.c.content)
        for match, name, content in connection.execute(contents.where(place.in_(new[start : start + CHUNK]))):
            key = keys[match, name]
            _known[key] = num_mistakes(content, key[1])
    for match, name, _, _, is_wanted_judge in rows:
        num = _known[keys[match, name]]
        if num is not None:
            yield match, is_wanted_judge, num

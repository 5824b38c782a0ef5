"""Turns a filter into conditions on matches or tallies: shared columns, grades, text patterns."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    all_,
    and_,
    any_,
    exists,
    func,
    literal,
    or_,
    select,
    true,
    tuple_,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from arena_db.called import read_called
from arena_db.codec import pack_actions
from arena_db.durations import DURATION_CLASS, class_of
from arena_db.judging import NUM_MISTAKES, num_mistakes
from arena_db.kept import pools
from arena_db.match_filter import SIGNS
from arena_db.models import FAILED, TIERS, analyses, bots, entrants, matches, tournaments, versions
from arena_db.remarks import CHUNK
from arena_db.wild import glob, is_like, is_wild

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from sqlalchemy import ColumnElement, Connection, Table
    from sqlalchemy.sql.compiler import SQLCompiler

    from arena_db.match_filter import MatchFilter
    from arena_db.records import OpeningFilter

BYTE: Final = 256
"""A game with more actions than this has two bytes per action."""


def needs_matches(where: MatchFilter) -> bool:
    """Return whether a filter needs single matches, because the stored counts cannot answer it."""
    known = where.since is where.until is where.min_tier is where.tier is where.machine is None
    return not known or bool(where.plies or where.durations or where.openings) or _is_about_grades(where)


def common_conditions(table: Table, where: MatchFilter) -> list[ColumnElement[bool]]:
    """Return the conditions that apply to matches and tallies alike.

    All of them look up what they need row by row, so that the query planner keeps the index that pages a
    list.
    """
    conditions: list[ColumnElement[bool]] = []
    of_tournament = tournament_conditions(where)
    if of_tournament:
        conditions.append(exists().where(tournaments.c.id == table.c.tournament_id, *of_tournament))
    names = [name for name in (where.bot, where.vs) if name is not None]
    if names:
        sides = (("first", "second"), ("second", "first"))
        seated = [
            and_(*(_is_seated(table, side, name) for side, name in zip(order, names, strict=False)))
            for order in sides
        ]
        conditions.append(or_(*seated))
    if where.termination is not None:
        conditions.append(_fits(table.c.termination, where.termination))
    if where.outcome is not None:
        conditions.append(table.c.outcome == where.outcome)
    if where.rated_only:
        conditions.append(table.c.rated == 1)
    return conditions


def match_conditions(connection: Connection, where: MatchFilter) -> list[ColumnElement[bool]]:
    """Return all conditions of a filter on matches, for queries in the present transaction."""
    conditions = common_conditions(matches, where)
    if where.since is not None:
        conditions.append(matches.c.started_at >= where.since)
    if where.until is not None:
        conditions.append(matches.c.started_at < where.until)
    if where.termination is not None and not is_like("rules", where.termination):
        # The planner uses the partial index only if the query repeats the index's condition literally.
        conditions.append(FAILED)
    if where.min_tier is not None:
        conditions.append(matches.c.tier.in_([tier for tier in TIERS if tier >= where.min_tier]))
    if where.tier is not None:
        conditions.append(matches.c.tier == where.tier)
    if where.machine is not None:
        played_by = _like(versions.c.content, _facts_of(where.machine))
        conditions.append(matches.c.versions_id.in_(select(versions.c.id).where(played_by)))
    conditions += [SIGNS[sign](matches.c.num_plies, number) for sign, number in where.plies]
    conditions += [_lasts(sign, number) for sign, number in where.durations]
    if where.openings:
        conditions.append(or_(*map(_begins_with, where.openings)))
    if _is_about_grades(where):
        conditions.append(_is_judged(connection, where, conditions))
    return conditions


def _lasts(sign: str, number: int) -> ColumnElement[bool]:
    """Return the condition that the duration of a match is on this side of a number of milliseconds."""
    # The bound of classes follows from that of milliseconds, and an index can evaluate it.
    wide = sign if sign == "=" else f"{sign[0]}="
    return and_(SIGNS[sign](matches.c.duration_ms, number), SIGNS[wide](DURATION_CLASS, class_of(number)))


def _facts_of(machine: str) -> str:
    """Return the pattern of the stored facts (JSON) about a match that this worker machine played."""
    return f'*"machine": {{"id": "*", "name": {json.dumps(machine)}, *'


def is_named(name: str) -> ColumnElement[bool]:
    """Return whether an entrant has this name, spec or label, with or without version or identity.

    `arena_db.called.is_called` is the same rule without a store.
    """
    texts, called = (bots.c.name, bots.c.spec, entrants.c.label), read_called(name)
    ways = [_fits(column, name) for column in texts]
    if called.digits:
        start = func.substr(bots.c.identity, 1, len(called.digits)) == called.digits
        begun = [func.substr(text, 1, len(called.beginning)) == called.beginning for text in texts]
        ways.append(and_(start, or_(*begun)))
    if called.version:
        ways.append(and_(bots.c.version == called.version, or_(*(t == called.unversioned for t in texts))))
    return or_(*ways)


def tournament_conditions(where: MatchFilter) -> list[ColumnElement[bool]]:
    """Return the conditions of a filter on tournaments."""
    wanted = ((tournaments.c.game, where.game), (tournaments.c.name, where.tournament))
    conditions = [_fits(column, value) for column, value in wanted if value is not None]
    for name in (where.pool, None if where.limit is None else f"{where.limit} *"):
        if name is not None:
            named = select(pools.c.id).where(_fits(pools.c.name, name))
            conditions.append(tournaments.c.pool_id.in_(named))
    return conditions


def _begins_with(opening: OpeningFilter) -> ColumnElement[bool]:
    packed = bytes(pack_actions(opening.actions, opening.num_actions))
    num = len(opening.actions)
    given = matches.c.num_opening
    # In another game the same bytes stand for other moves.
    own = (tournaments.c.id == matches.c.tournament_id) & (tournaments.c.game == opening.game)
    return and_(
        given >= num if opening.is_beginning else given == num,
        func.substr(matches.c.actions, 1, len(packed)) == packed,
        exists().where(own),
    )


def _is_seated(table: Table, side: str, name: str) -> ColumnElement[bool]:
    here = (entrants.c.tournament_id == table.c.tournament_id) & (entrants.c.seat == table.c[f"{side}_seat"])
    return exists().where(here, bots.c.id == entrants.c.bot_id, is_named(name))


_MOST_KNOWN: Final = 200_000
"""Maximum number of analyses whose mistakes are remembered, in about 25 MB."""
_DIGEST: Final = 32
"""Number of bytes at the end of the content of an analysis that are its digest."""

_UNCOUNTED: Final = -1
"""Stands for an analysis whose mistakes are not remembered."""
_known: dict[tuple[bytes, int], int | None] = {}
"""Number of mistakes by digest of the analysis and length of the opening; see `num_mistakes`."""


def _is_about_grades(where: MatchFilter) -> bool:
    """Return whether a filter has conditions on grades."""
    return bool(where.mistakes) or where.judge is not None or where.is_graded is not None


def _is_judged(
    connection: Connection, where: MatchFilter, others: Sequence[ColumnElement[bool]]
) -> ColumnElement[bool]:
    """Return whether one judge meets all conditions on grades, or that no judge graded the match.

    An interrupted analysis does not cover the whole match, so its mistakes are unknown and it meets no
    condition. SQLite calls `judging.num_mistakes` for each analysis. A server cannot: it has no function that
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
        said.append(_fits(analyses.c.name, where.judge))
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
    wanted = true() if judge is None else _fits(analyses.c.name, judge)
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
    # A copy of what this query needs: another thread may clear the cache meanwhile.
    found = {key: num for key in keys.values() if (num := _known.get(key, _UNCOUNTED)) != _UNCOUNTED}
    new = [place for place, key in keys.items() if key not in found]
    for start in range(0, len(new), CHUNK):
        place = tuple_(analyses.c.match_id, analyses.c.name)
        contents = select(analyses.c.match_id, analyses.c.name, analyses.c.content)
        for match, name, content in connection.execute(contents.where(place.in_(new[start : start + CHUNK]))):
            key = keys[match, name]
            found[key] = _known[key] = num_mistakes(content, key[1])
    for match, name, _, _, is_wanted_judge in rows:
        num = found[keys[match, name]]
        if num is not None:
            yield match, is_wanted_judge, num


class _Like(FunctionElement[bool]):
    """SQL function of a text, a pattern for SQLite, and a regular expression for PostgreSQL."""

    type = Boolean()
    inherit_cache = True


@compiles(_Like)
def _of_sqlite(element: _Like, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401 - of SQLAlchemy
    text, pattern, _ = element.clauses
    return f"{compiler.process(text, **options)} GLOB {compiler.process(pattern, **options)}"


@compiles(_Like, "postgresql")
def _of_postgresql(element: _Like, compiler: SQLCompiler, **options: Any) -> str:  # noqa: ANN401 - of SQLAlchemy
    text, _, pattern = element.clauses
    return f"{compiler.process(text, **options)} ~ {compiler.process(pattern, **options)}"


def _like(column: ColumnElement[str], wanted: str) -> ColumnElement[bool]:
    """Return whether a text matches a pattern, in which only `*` and `?` are special."""
    return _Like(column, literal(glob(wanted)), literal(expression(wanted)))


def _fits(column: ColumnElement[str], wanted: str) -> ColumnElement[bool]:
    """Return whether a text is the wanted one, or matches it if that is a pattern."""
    return _like(column, wanted) if is_wild(wanted) else column == wanted


def expression(wanted: str) -> str:
    """Return a regular expression of PostgreSQL that matches a whole text."""
    # A leading `***:` or `(?` would be a directive in PostgreSQL; after the anchor it is not.
    parts = (".*" if part == "*" else "." if part == "?" else _escaped(part) for part in wanted)
    return f"^{''.join(parts)}$"


def _escaped(character: str) -> str:
    return re.sub(r"[][.*+?(){}|^$\\]", r"\\\g<0>", character)

"""Turns a filter into conditions on matches or tallies, which share their column names."""

from __future__ import annotations

import json
import operator
from typing import TYPE_CHECKING, Final

from sqlalchemy import and_, exists, func, or_, select

from arena_db.called import read_called
from arena_db.codec import pack_actions
from arena_db.judging import NUM_MISTAKES
from arena_db.kept import pools
from arena_db.models import FAILED, TIERS, analyses, bots, entrants, matches, tournaments, versions
from arena_db.patterns import like
from arena_db.wild import is_like, is_wild

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sqlalchemy import ColumnElement, Table

    from arena_db.records import MatchFilter, OpeningFilter

_SIGNS: Final[Mapping[str, Callable[[ColumnElement[int], int], ColumnElement[bool]]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
}
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


def match_conditions(where: MatchFilter) -> list[ColumnElement[bool]]:
    """Return all conditions of a filter on matches."""
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
        played_by = like(versions.c.content, _facts_of(where.machine))
        conditions.append(matches.c.versions_id.in_(select(versions.c.id).where(played_by)))
    conditions += [_SIGNS[sign](matches.c.num_plies, number) for sign, number in where.plies]
    conditions += [_SIGNS[sign](matches.c.duration_ms, number) for sign, number in where.durations]
    if where.openings:
        conditions.append(or_(*map(_begins_with, where.openings)))
    if _is_about_grades(where):
        conditions.append(_is_judged(where))
    return conditions


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


def _fits(column: ColumnElement[str], wanted: str) -> ColumnElement[bool]:
    return like(column, wanted) if is_wild(wanted) else column == wanted


def _begins_with(opening: OpeningFilter) -> ColumnElement[bool]:
    packed = bytes(pack_actions(opening.actions, opening.num_actions))
    num = len(opening.actions)
    given = matches.c.num_opening
    own = (tournaments.c.id == matches.c.tournament_id) & (tournaments.c.game == opening.game)
    return and_(
        given >= num if opening.is_beginning else given == num,
        func.substr(matches.c.actions, 1, len(packed)) == packed,
        exists().where(own),
    )


def _is_about_grades(where: MatchFilter) -> bool:
    return bool(where.mistakes) or where.judge is not None or where.is_graded is not None


def _is_judged(where: MatchFilter) -> ColumnElement[bool]:
    """Return whether one judge meets all conditions on grades, or that no judge graded the match."""
    of_match = analyses.c.match_id == matches.c.id
    counted: ColumnElement[int] = getattr(func, NUM_MISTAKES)(analyses.c.content, matches.c.num_opening)
    # An interrupted analysis does not cover the whole match, so its mistakes are unknown.
    is_complete = counted.is_not(None)
    said = [_SIGNS[sign](counted, number) for sign, number in where.mistakes]
    if where.judge is not None:
        said.append(_fits(analyses.c.name, where.judge))
    is_said = exists().where(of_match, is_complete, *said)
    if where.is_graded is not False:
        return is_said
    nobody = ~exists().where(of_match, is_complete)
    return and_(nobody, is_said) if said else nobody


def _is_seated(table: Table, side: str, name: str) -> ColumnElement[bool]:
    here = (entrants.c.tournament_id == table.c.tournament_id) & (entrants.c.seat == table.c[f"{side}_seat"])
    return exists().where(here, bots.c.id == entrants.c.bot_id, is_named(name))

"""Turns a filter into conditions on matches or tallies, which share their column names."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from sqlalchemy import and_, exists, func, or_, select

from arena_db.called import read_called
from arena_db.codec import pack_actions
from arena_db.grades import is_about_grades, is_judged
from arena_db.kept import pools
from arena_db.match_filter import SIGNS
from arena_db.models import FAILED, TIERS, bots, entrants, matches, tournaments, versions
from arena_db.patterns import fits, like
from arena_db.wild import is_like

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection, Table

    from arena_db.records import MatchFilter, OpeningFilter

BYTE: Final = 256
"""A game with more actions than this has two bytes per action."""


def needs_matches(where: MatchFilter) -> bool:
    """Return whether a filter needs single matches, because the stored counts cannot answer it."""
    known = where.since is where.until is where.min_tier is where.tier is where.machine is None
    return not known or bool(where.plies or where.durations or where.openings) or is_about_grades(where)


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
        conditions.append(fits(table.c.termination, where.termination))
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
        played_by = like(versions.c.content, _facts_of(where.machine))
        conditions.append(matches.c.versions_id.in_(select(versions.c.id).where(played_by)))
    conditions += [SIGNS[sign](matches.c.num_plies, number) for sign, number in where.plies]
    conditions += [SIGNS[sign](matches.c.duration_ms, number) for sign, number in where.durations]
    if where.openings:
        conditions.append(or_(*map(_begins_with, where.openings)))
    if is_about_grades(where):
        conditions.append(is_judged(connection, where, conditions))
    return conditions


def _facts_of(machine: str) -> str:
    """Return the pattern of the stored facts (JSON) about a match that this worker machine played."""
    return f'*"machine": {{"id": "*", "name": {json.dumps(machine)}, *'


def is_named(name: str) -> ColumnElement[bool]:
    """Return whether an entrant has this name, spec or label, with or without version or identity.

    `arena_db.called.is_called` is the same rule without a store.
    """
    texts, called = (bots.c.name, bots.c.spec, entrants.c.label), read_called(name)
    ways = [fits(column, name) for column in texts]
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
    conditions = [fits(column, value) for column, value in wanted if value is not None]
    for name in (where.pool, None if where.limit is None else f"{where.limit} *"):
        if name is not None:
            named = select(pools.c.id).where(fits(pools.c.name, name))
            conditions.append(tournaments.c.pool_id.in_(named))
    return conditions


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


def _is_seated(table: Table, side: str, name: str) -> ColumnElement[bool]:
    here = (entrants.c.tournament_id == table.c.tournament_id) & (entrants.c.seat == table.c[f"{side}_seat"])
    return exists().where(here, bots.c.id == entrants.c.bot_id, is_named(name))

"""Turns a filter into conditions on matches or tallies, which name the same things alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import and_, exists, or_

from arena_db.models import FAILED, TIERS, bots, entrants, matches, tournaments

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Table

    from arena_db.records import MatchFilter


def needs_matches(where: MatchFilter) -> bool:
    """Return whether the kept counts do not know enough to answer.

    They know terminations, but count a repeat where it came first, which may be under another one.
    """
    return not (where.since is where.until is where.min_tier is where.termination is None)


def common_conditions(table: Table, where: MatchFilter) -> list[ColumnElement[bool]]:
    """Return the conditions that hold for matches and tallies alike.

    All look up what they need row by row: none of them tempts the planner away from the index of a page.
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
        conditions.append(table.c.termination == where.termination)
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
    if where.termination not in (None, "rules"):
        # In the words of the index, or the planner does not see that it knows all of these matches.
        conditions.append(FAILED)
    if where.min_tier is not None:
        conditions.append(matches.c.tier.in_([tier for tier in TIERS if tier >= where.min_tier]))
    return conditions


def is_named(name: str) -> ColumnElement[bool]:
    """Return whether an entrant goes by a name: of the bot, its spec, or its label in the tournament."""
    return or_(bots.c.name == name, bots.c.spec == name, entrants.c.label == name)


def tournament_conditions(where: MatchFilter) -> list[ColumnElement[bool]]:
    """Return the conditions of a filter on tournaments."""
    wanted = (
        (tournaments.c.game, where.game),
        (tournaments.c.name, where.tournament),
        (tournaments.c.pool, where.pool),
    )
    return [column == value for column, value in wanted if value is not None]


def _is_seated(table: Table, side: str, name: str) -> ColumnElement[bool]:
    here = (entrants.c.tournament_id == table.c.tournament_id) & (entrants.c.seat == table.c[f"{side}_seat"])
    return exists().where(here, bots.c.id == entrants.c.bot_id, is_named(name))

"""Counts matches by seats and result: from the stored counts, or match by match."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, exists, func, or_, select, text

from arena_db.counted import IS_VOID
from arena_db.filters import common_conditions, match_conditions, needs_matches
from arena_db.kept import pools
from arena_db.models import bots, entrants, matches, tallies, tournaments
from arena_db.records import PoolCounts, PoolTally, Tally

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection, Select

    from arena_db.records import MatchFilter

KEYS = tuple(column.name for column in tallies.primary_key)
"""The columns by which matches are counted."""


def list_tallies(connection: Connection, where: MatchFilter) -> list[Tally]:
    """Return the counts of the matches that fit a filter."""
    if needs_matches(where):
        query = recount(match_conditions(connection, where))
    else:
        query = select(tallies).where(*common_conditions(tallies, where))
    named = {
        tournament: (game, pool)
        for tournament, game, pool in connection.execute(
            select(tournaments.c.id, tournaments.c.game, pools.c.name).join_from(tournaments, pools)
        ).all()
    }
    seats = select(entrants.c.tournament_id, entrants.c.seat, bots.c.identity)
    seats = seats.join_from(entrants, bots, bots.c.id == entrants.c.bot_id)
    identities = {(tournament, seat): bot for tournament, seat, bot in connection.execute(seats).all()}
    # All rows at once, with names looked up here: a join and an object per row would cost five times as much.
    return [
        Tally(
            tournament,
            *named[tournament],
            identities[tournament, first_seat],
            identities[tournament, second_seat],
            first_seat,
            second_seat,
            outcome,
            termination,
            rated == 1,
            num_matches,
        )
        for (
            tournament,
            first_seat,
            second_seat,
            outcome,
            termination,
            rated,
            num_matches,
        ) in connection.execute(query.order_by(*KEYS)).all()
    ]


def count_pools(connection: Connection, where: MatchFilter) -> PoolCounts:
    """Return the counts of the matches that fit a filter, added up over the tournaments of each pool."""
    if needs_matches(where):
        return PoolCounts.of(list_tallies(connection, where))
    conditions = common_conditions(tallies, where)
    names = {
        key: (game, name)
        for key, game, name in connection.execute(select(pools.c.id, pools.c.game, pools.c.name)).all()
    }
    identities = {
        row.id: row.identity for row in connection.execute(select(bots.c.id, bots.c.identity)).all()
    }
    # Aliases, because the conditions look into the tables of tournaments and entrants themselves.
    event, first, second = tournaments.alias(), entrants.alias(), entrants.alias()
    keys = (event.c.pool_id, first.c.bot_id, second.c.bot_id, tallies.c.outcome, tallies.c.termination)
    # The database adds up: a row per tournament, pair and result costs ten times as much to read.
    counted = (
        select(*keys, func.sum(tallies.c.num_matches))
        .join_from(tallies, event, event.c.id == tallies.c.tournament_id)
        .join(first, and_(first.c.tournament_id == event.c.id, first.c.seat == tallies.c.first_seat))
        .join(second, and_(second.c.tournament_id == event.c.id, second.c.seat == tallies.c.second_seat))
        .where(first.c.bot_id != second.c.bot_id, *conditions)
        .group_by(*keys)
        .order_by(*keys)
    )
    found = [
        PoolTally(*names[pool], identities[one], identities[other], outcome, termination, int(num))
        for pool, one, other, outcome, termination, num in connection.execute(counted).all()
    ]
    seats: dict[tuple[str, str], dict[tuple[int, int], str]] = {}
    for pool, tournament, seat, bot in connection.execute(_seats(conditions)).all():
        seats.setdefault(names[pool], {})[tournament, seat] = identities[bot]
    return PoolCounts(found, seats)


def _seats(conditions: Sequence[ColumnElement[bool]]) -> Select[*tuple[Any, ...]]:
    """Return the query for the seats of counted matches between two bots, with pool and bot."""
    event, seated, other = tournaments.alias(), entrants.alias(), entrants.alias()

    def has_met(side: str, opposite: str) -> ColumnElement[bool]:
        is_another = exists().where(
            other.c.tournament_id == tallies.c.tournament_id,
            other.c.seat == tallies.c[opposite],
            other.c.bot_id != seated.c.bot_id,
        )
        there = exists().where(
            tallies.c.tournament_id == seated.c.tournament_id,
            tallies.c[side] == seated.c.seat,
            *conditions,
            is_another.correlate(tallies, seated),
        )
        return there.correlate(seated)

    return (
        select(event.c.pool_id, seated.c.tournament_id, seated.c.seat, seated.c.bot_id)
        .join_from(seated, event, event.c.id == seated.c.tournament_id)
        .where(or_(has_met("first_seat", "second_seat"), has_met("second_seat", "first_seat")))
    )


def recount(conditions: Sequence[ColumnElement[bool]]) -> Select[*tuple[Any, ...]]:
    """Return the query that counts matches one by one, without void ones."""
    keys = [matches.c[name] for name in KEYS]
    counted = select(*keys, func.count().label("num_matches")).where(*conditions, text(f"NOT {IS_VOID}"))
    return counted.group_by(*keys)

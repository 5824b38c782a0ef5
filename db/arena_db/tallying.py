"""Counts matches by seats and result: from the stored counts, or match by match."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select, text

from arena_db.counted import IS_VOID
from arena_db.filters import common_conditions, match_conditions, needs_matches
from arena_db.kept import pools
from arena_db.models import bots, entrants, matches, tallies, tournaments
from arena_db.records import Tally

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


def recount(conditions: Sequence[ColumnElement[bool]]) -> Select[*tuple[Any, ...]]:
    """Return the query that counts matches one by one, without void ones."""
    keys = [matches.c[name] for name in KEYS]
    counted = select(*keys, func.count().label("num_matches")).where(*conditions, text(f"NOT {IS_VOID}"))
    return counted.group_by(*keys)

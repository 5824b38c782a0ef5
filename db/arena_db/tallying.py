"""Counts matches by who met whom with which result: from the kept counts, or match by match."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import Integer, cast, func, select

from arena_db.filters import common_conditions, match_conditions, needs_matches
from arena_db.models import bots, entrants, matches, tallies, tournaments
from arena_db.records import Tally

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection, FromClause, Select

    from arena_db.records import MatchFilter

KEYS = tuple(column.name for column in tallies.primary_key)
"""What matches are counted by."""


def list_tallies(connection: Connection, where: MatchFilter) -> list[Tally]:
    """Return the counts of the matches a filter is about."""
    if needs_matches(where):
        source: FromClause = recount(match_conditions(where)).subquery()
    else:
        source = select(tallies).where(*common_conditions(tallies, where)).subquery()
    rows = connection.execute(_named(source))
    # Rows taken apart at once: the names of a row, looked up one by one, cost more than the query.
    return [
        Tally(
            tournament=tournament,
            game=game,
            pool=pool,
            first=first,
            second=second,
            first_seat=first_seat,
            second_seat=second_seat,
            outcome=outcome,
            termination=termination,
            rated=bool(rated),
            num_matches=num_matches,
            num_unique=num_unique,
        )
        for (
            tournament,
            first_seat,
            second_seat,
            outcome,
            termination,
            rated,
            num_matches,
            num_unique,
            game,
            pool,
            first,
            second,
        ) in rows
    ]


def recount(conditions: Sequence[ColumnElement[bool]]) -> Select[*tuple[Any, ...]]:
    """Return the query that counts matches one by one; a repeat counts as unique where it came first."""
    alike = [
        matches.c[name]
        for name in ("tournament_id", "first_seat", "second_seat", "rated", "match_hash", "outcome")
    ]
    place = func.row_number().over(partition_by=alike, order_by=matches.c.id)
    each = select(*(matches.c[name] for name in KEYS), cast(place == 1, Integer).label("is_new")).where(
        *conditions
    )
    counted = each.subquery()
    keys = [counted.c[name] for name in KEYS]
    num_unique = func.sum(counted.c.is_new).label("num_unique")
    return select(*keys, func.count().label("num_matches"), num_unique).group_by(*keys)


def _named(source: FromClause) -> Select[*tuple[Any, ...]]:
    first, second = entrants.alias(), entrants.alias()
    first_bot, second_bot = bots.alias(), bots.alias()
    here = source.c.tournament_id
    names = (tournaments.c.game, tournaments.c.pool)
    identities = (first_bot.c.identity.label("first"), second_bot.c.identity.label("second"))
    return (
        select(source, *names, *identities)
        .join_from(source, tournaments, tournaments.c.id == here)
        .join(first, (first.c.tournament_id == here) & (first.c.seat == source.c.first_seat))
        .join(second, (second.c.tournament_id == here) & (second.c.seat == source.c.second_seat))
        .join(first_bot, first_bot.c.id == first.c.bot_id)
        .join(second_bot, second_bot.c.id == second.c.bot_id)
        .order_by(*(source.c[name] for name in KEYS))
    )

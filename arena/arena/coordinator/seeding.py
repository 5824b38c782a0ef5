"""Seats the bots of a new tournament by their ratings, for types in which the seat is the seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from arena.coordinator.plan import rating_pool
from arena.results.rated_matches import RatedMatches
from arena.results.rating_tables import Leaderboard
from arena.results.sides import GamePool
from arena_db.records import MatchFilter
from arena_plugins import game_spec

if TYPE_CHECKING:
    from arena.coordinator.plan import Plan
    from arena_db.store import Store


def seat_by_rating(plan: Plan, store: Store) -> Plan:
    """Return a plan with its bots in the order of the leaderboard of its game and pool, the best first.

    Bots without a rating there come last, in the order given; a note says so.
    """
    game = game_spec(plan.game)
    pool = rating_pool(plan).name
    where = MatchFilter(game=game, pool=pool)
    book = RatedMatches(where)
    # One snapshot: a match stored between the two reads would be in one table and not in the other.
    with store.at_one_moment():
        book.update(store)
        board = Leaderboard(store.sums.pool_counts(where), store.names.bots(), GamePool(game, pool), book)
        elo = {row.identity: row.elo for table in board.tables() for row in table.rows}
    # The sort is stable, so that unrated bots keep the order given.
    order = sorted(
        range(len(plan.competitors)),
        key=lambda seat: -elo.get(plan.competitors[seat].record.identity, float("-inf")),
    )
    competitors = [plan.competitors[seat] for seat in order]
    unrated = [bot.label for bot in competitors if bot.record.identity not in elo]
    note = f"not rated in {pool}, so seeded last: {', '.join(unrated)}"
    return plan._replace(
        config=msgspec.structs.replace(plan.config, bots=tuple(bot.spec for bot in competitors)),
        competitors=competitors,
        notes=(*plan.notes, note) if unrated else plan.notes,
    )

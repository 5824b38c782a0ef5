"""The leaderboard for a query: which matches are rated, and which rows of the table are shown."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from arena.errors import ConfigError
from arena.results.condition import TABLE_WORDS
from arena.results.one_moment import at_one_moment
from arena.results.rated_matches import RatedMatches
from arena.results.rating_tables import ALL, Leaderboard, choose_pool, pools, standings
from arena.results.sides import GamePool
from arena.results.tables import show_only
from arena.results.tested import count_tested, mark_tested
from arena_db.called import is_called
from arena_db.wild import is_wild
from arena_plugins.spec import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from arena.results.condition import Condition
    from arena.results.tables import Table
    from arena_db.records import BotRecord, TournamentRecord
    from arena_db.store import Store


class Rated(NamedTuple):
    """The leaderboard of one pool."""

    game: str
    pool: str
    """Name of the pool, or `all`."""
    tables: list[Table]
    """One table for each connected component of bots; only the requested rows."""
    others: list[tuple[str, str, int]]
    """Game, pool and number of matches of the other pools."""


@at_one_moment
def rate(
    store: Store,
    condition: Condition,
    *,
    refit: bool = False,
    anchor: tuple[str, float] | None = None,
    num_samples: int | None = None,
) -> Rated | None:
    """Rate the bots of one pool; if the condition only names a tournament, return its standings.

    Args:
        store: the store with the matches.
        condition: game, pool and limit select the pool; tournament, date and tier select the rated matches;
            `bot` selects the rows that are shown, with ratings and ranks among all bots.
        refit: rate only the matches of `bot` and `vs`, and return all rows of their table.
        anchor: a bot and its fixed Elo; None for the mean of a table, or the anchors of a tournament.
        num_samples: bootstrap samples of openings for additional intervals; None for no such intervals.

    Returns:
        None if no match fits, unless the condition names a tournament that has bots.

    Raises:
        ConfigError: a condition does not apply to ratings, or there is no such pool, bot or anchor.
    """
    condition.only(TABLE_WORDS, "a table of ratings")
    if condition.vs and not refit:
        raise ConfigError(
            "--vs chooses matches, but a table rates all matches of its bots; add --refit to rate only those"
        )
    condition = condition.spelled_out(store)
    rated = replace(condition, pool="") if refit else replace(condition, pool="", bot="", vs="")
    where = rated.to_filter(store, rated_only=True)
    counts = store.sums.pool_counts(where)
    found = pools(counts.tallies)
    bots, event = store.names.bots(), None if refit else _event_of(store, rated)
    if found:
        of = choose_pool(found, condition.pool or None)
    elif event is None or not store.tournaments.entrants(event.id) or condition.pool:
        return None
    else:
        # If all matches are void, the rows are those of the standings: all bots, without a match.
        of = GamePool(event.game, event.pool.name)
    game, chosen = of
    of_pool = dataclasses.replace(where, game=game, pool=where.pool if chosen == ALL else chosen)
    if event is None:
        book = RatedMatches(of_pool)
        book.update(store)
        board = Leaderboard(counts, bots, of, book, store.names.labels())
        tables = mark_tested(board.tables(anchor, num_samples=num_samples), count_tested(store, of_pool))
    else:
        tables = standings(store, event, anchor=anchor, num_samples=num_samples)
    others = [each for each in found if each[0] != game or chosen not in {ALL, each[1]}]
    if not condition.bot or refit:
        return Rated(game, chosen, tables, others)
    return Rated(game, chosen, _rows_of(tables, condition.bot, bots, f"{game}, {chosen}"), others)


def _rows_of(tables: Sequence[Table], wanted: str, bots: Mapping[str, BotRecord], where: str) -> list[Table]:
    """Return the tables with the rows of one bot or several.

    Raises:
        ConfigError: there is no such bot.
    """
    names = {
        row.identity: (row.name, bots[row.identity].name, bots[row.identity].spec)
        for table in tables
        for row in table.rows
    }
    shown = show_only(tables, lambda row: _goes_by(bots[row.identity], wanted, names[row.identity]))
    if not any(table.rows for table in shown):
        known = {text for texts in names.values() for text in texts}
        raise ConfigError(f'no bot "{wanted}" in {where}{nearest(wanted, sorted(known))}')
    return shown


def _event_of(store: Store, rated: Condition) -> TournamentRecord | None:
    """Return the tournament if a condition selects exactly its rated matches; otherwise None."""
    if [word for word, _ in rated.pairs()] != ["tournament"] or is_wild(rated.tournament):
        return None
    return store.tournaments.find(rated.tournament)


def _goes_by(bot: BotRecord, wanted: str, texts: Iterable[str]) -> bool:
    return is_called(wanted, texts, version=bot.version, identity=bot.identity)

"""Tables from the store's tallies: standings of one tournament, leaderboard over all tournaments."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from arena.errors import ConfigError
from arena.rating.sums import encounters
from arena.results.names import long_names
from arena.results.one_moment import at_one_moment
from arena.results.rated_matches import RatedMatches
from arena.results.remembered import fit_of
from arena.results.replays import rate_event, replayed_of
from arena.results.sides import BotTable, GamePool, Result
from arena.results.tables import Table, make_tables
from arena.results.tested import count_tested, mark_tested
from arena.results.tournament_states import REPLAYED_TYPES
from arena_db.records import MatchFilter
from arena_db.wild import is_like

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from arena.rating.ratings import Ratings
    from arena_db.records import BotRecord, PoolCounts, PoolTally, Tally, TournamentRecord
    from arena_db.store import Store

ALL = "all"
"""Name that stands for all pools at once."""


@at_one_moment
def standings(
    store: Store,
    tournament: TournamentRecord,
    *,
    anchor: tuple[str, float] | None = None,
    book: RatedMatches | None = None,
    num_samples: int | None = None,
) -> list[Table]:
    """Return the tables of one tournament; there are several if matches do not connect all bots.

    All its bots are included, even those without a rated match.

    Args:
        store: the store with the tournament.
        tournament: the tournament.
        anchor: a bot and its fixed Elo; None for the tournament's own anchors, if any.
        book: the tournament's matches, read incrementally.
        num_samples: bootstrap samples of openings for additional intervals; None for no such intervals.

    Raises:
        ConfigError: the anchor is not among the bots.
    """
    entrants = store.tournaments.entrants(tournament.id)
    where = MatchFilter(tournament=tournament.name)
    field = BotTable(
        GamePool(tournament.game, tournament.pool.name),
        tuple(entrant.label for entrant in entrants),
        tuple(entrant.bot.identity for entrant in entrants),
        tuple(Result(tally.first_seat, tally.second_seat, tally) for tally in store.sums.tallies(where)),
    )
    if book is None:
        book = RatedMatches(where)
    book.update(store)
    sums = book.of_tournament(tournament.id, {entrant.seat: entrant.seat for entrant in entrants})
    own = [(entrant.label, entrant.anchor) for entrant in entrants if entrant.anchor is not None]
    anchors = own if anchor is None else [anchor]
    found = replayed_of(store, tournament.id)
    rate = partial(rate_event, sums, field.names, found)
    resampled = None
    if num_samples is not None:
        seats = {(tournament.id, entrant.seat): entrant.seat for entrant in entrants}
        resampled = (book.matches(seats), num_samples)
    tables = make_tables(field, rate, anchors=anchors, resampled=resampled)
    if tournament.type in REPLAYED_TYPES and found is None:
        tables = [replace(table, replayed=False) for table in tables]
    return mark_tested(tables, count_tested(store, where))


def pools(tallies: Iterable[Tally | PoolTally]) -> list[tuple[str, str, int]]:
    """Return game, pool and number of matches of all pools, the largest first, equal ones by name.

    The order of the tallies does not matter, so a page and a command choose the same pool. Matches of a bot
    against itself do not affect ratings, so they are ignored.
    """
    sizes: Counter[tuple[str, str]] = Counter()
    for tally in tallies:
        if tally.first != tally.second:
            sizes[tally.game, tally.pool] += tally.num_matches
    return [(*pool, sizes[pool]) for pool in sorted(sizes, key=lambda pool: (-sizes[pool], pool))]


def choose_pool(pools: Sequence[tuple[str, str, int]], wanted: str | None) -> GamePool:
    """Return the chosen game and pool: the wanted one, else the one with the most matches.

    Args:
        pools: at least one, the largest first.
        wanted: name of a pool, which may be a pattern; `all`; or None.

    Raises:
        ConfigError: there is no such pool; the message lists the existing ones.
    """
    if wanted == ALL:
        return GamePool(pools[0][0], ALL)
    for game, pool, _ in pools:
        if wanted is None or is_like(pool, wanted):
            return GamePool(game, pool)
    there = "; ".join(sorted({pool for _, pool, _ in pools}))
    raise ConfigError(f'no pool "{wanted}"; there are: {there}; {ALL} mixes them')


class Leaderboard:
    """The leaderboard of one game and one pool, over all tournaments."""

    def __init__(
        self,
        counts: PoolCounts,
        bots: Mapping[str, BotRecord],
        of: GamePool,
        book: RatedMatches,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        """Select the rated matches of a game and a pool; `all` mixes the pools.

        Args:
            counts: counts of rated matches of any game and pool.
            bots: all bots by identity.
            of: the game, and the pool or `all`.
            book: the rated matches, which are summed up.
            labels: most recent labels of bots by identity; None if names are not used.
        """
        game, pool = of
        used = [tally for tally in counts.tallies if tally.game == game and pool in (ALL, tally.pool)]
        identities = sorted({tally.first for tally in used} | {tally.second for tally in used})
        index = {identity: number for number, identity in enumerate(identities)}
        self._field = BotTable(
            of,
            long_names([bots[identity] for identity in identities], labels or {}),
            tuple(identities),
            tuple(Result(index[tally.first], index[tally.second], tally) for tally in used),
        )
        self._book = book
        self._seats = {
            seat: index[identity]
            for (of_game, of_pool), seats in counts.seats.items()
            if of_game == game and pool in (ALL, of_pool)
            for seat, identity in seats.items()
        }
        # Stored sums are per pool; copies and openings across pools can only be found from single matches.
        self._encounters = (
            encounters(book.matches(self._seats))
            if pool == ALL
            else book.of_pool(game, pool, index, self._seats)
        )

    def tables(
        self,
        anchor: tuple[str, float] | None = None,
        *,
        num_samples: int | None = None,
        has_gaps: bool = True,
    ) -> list[Table]:
        """Return the rated tables.

        Args:
            anchor: a bot and its fixed Elo.
            num_samples: bootstrap samples of openings for additional intervals; None for no such intervals.
            has_gaps: whether each row is compared with the next one.

        Raises:
            ConfigError: the anchor is not among the bots.
        """
        anchors = () if anchor is None else (anchor,)
        resampled = None if num_samples is None else (self._book.matches(self._seats), num_samples)
        return make_tables(
            self._field,
            self._rate,
            anchors=anchors,
            resampled=resampled,
            has_gaps=has_gaps,
        )

    def _rate(self, anchors: Sequence[tuple[int, float]]) -> Ratings:
        found = self._book.replayed(self._seats)
        if found is not None:
            return rate_event(self._encounters, self._field.names, found, anchors)
        weighted = self._book.weighted(self._encounters, self._seats)
        return fit_of(self._encounters, self._field.names, anchors, weighted)

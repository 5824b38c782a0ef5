"""Results of encounters: cheap counts while a tournament runs, and full statistics of stored matches."""

from __future__ import annotations

import tomllib
from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeVar

from arena.rating.fit import head_to_head
from arena.rating.model import look_level
from arena.rating.ratings import NO_MATCH
from arena.rating.ticker import Ticker
from arena.results.counts import EncounterCounts, HeadToHead, counts_of
from arena.results.forfeits import count_forfeits
from arena.results.one_moment import at_one_moment
from arena.results.rated_matches import RatedMatches
from arena.results.sides import POINTS
from arena_db.records import MatchFilter
from arena_plugins import Outcome

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from arena.rating.sums import Encounters
    from arena_db.records import MatchRecord, TournamentRecord
    from arena_db.store import Store

_Bot = TypeVar("_Bot", bound="Hashable")
_TICKED: Final = 20_000
"""Matches after which the ticker no longer depends on its initial ratings."""


class Scores:
    """Wins, draws and losses of each encounter, and a running Elo; each match costs constant time."""

    def __init__(self, labels: Sequence[str]) -> None:
        """Start without matches; `labels` are by seat."""
        self._labels = labels
        self._points: dict[tuple[str, str], Counter[float]] = defaultdict(Counter)
        self.ticker = Ticker()
        """Incremental Elo by label. It depends on the order of matches, so it is no rating."""

    def restore(self, store: Store, tournament: TournamentRecord) -> None:
        """Add the matches played before this run; the ticker gets only about the last 20,000."""
        where = MatchFilter(tournament=tournament.name)
        for tally in store.tallies(where):
            seats = self._labels[tally.first_seat], self._labels[tally.second_seat]
            if tally.outcome in POINTS:
                self._points[seats][POINTS[Outcome(tally.outcome)]] += tally.num_matches
        is_long = tournament.num_done > _TICKED
        after = store.last_match(tournament.id) - _TICKED if is_long else 0
        for match in store.played(where, after=after):
            seats = self._labels[match.first_seat], self._labels[match.second_seat]
            self.ticker.update(*seats, POINTS[Outcome(match.outcome)])

    def add(self, record: MatchRecord, first: str, second: str) -> None:
        """Add a match of two bots, given by their labels; unrated matches are ignored."""
        if not record.rated:
            return
        points = POINTS[Outcome(record.outcome)]
        self.ticker.update(first, second, points)
        self._points[first, second][points] += 1

    def encounter(self, first: str, second: str) -> tuple[str, str, EncounterCounts]:
        """Return both bots of an encounter, and their results from the view of the lower seat."""
        one, other = sorted((first, second), key=self._labels.index)
        as_first, as_second = self._points[one, other], self._points[other, one]
        counts = EncounterCounts(
            wins=as_first[1.0] + as_second[0.0],
            draws=as_first[0.5] + as_second[0.5],
            losses=as_first[0.0] + as_second[1.0],
        )
        return one, other, counts


@at_one_moment
def meetings(
    store: Store, tournament: TournamentRecord, book: RatedMatches | None = None, *, look: int = 1
) -> dict[tuple[int, int], HeadToHead]:
    """Return all encounters of a tournament by pairs of seats, each from the view of the first seat.

    Match lines, crosstable, its JSON and the dashboard's matrix are views of it. Pairs that have not met are
    missing.

    Args:
        store: the store with the tournament.
        tournament: the tournament, whose rated matches count.
        book: these matches, if the caller has read them.
        look: number of times the verdict was read while results accumulated, including this time.
    """
    where = MatchFilter(tournament=tournament.name)
    if book is None:
        book = RatedMatches(where)
    book.update(store)
    seats = [entrant.seat for entrant in store.entrants(tournament.id)]
    encounters = book.of_tournament(tournament.id, {seat: seat for seat in seats})
    forfeits = count_forfeits(
        store.tallies(where),
        lambda tally: ((tally.first_seat, tally.second_seat), (tally.second_seat, tally.first_seat)),
    )
    return _met(encounters, range(max(seats, default=0) + 1), forfeits, look)


def pool_meetings(
    store: Store, game: str, pool: str, where: MatchFilter | None = None
) -> dict[tuple[str, str], HeadToHead]:
    """Return all encounters of a pool by pairs of identities, each from the view of the first.

    The counterpart of `meetings` for all tournaments of a pool. Pairs that have not met are missing.

    Args:
        store: the store with the matches.
        game: canonical spec.
        pool: name of the pool.
        where: further conditions on the matches; None for all rated ones.
    """
    where = replace(where or MatchFilter(), game=game, pool=pool)
    tallies = [tally for tally in store.tallies(where) if tally.first != tally.second]
    identities = sorted({tally.first for tally in tallies} | {tally.second for tally in tallies})
    index = {identity: number for number, identity in enumerate(identities)}
    seats = {(tally.tournament, tally.first_seat): index[tally.first] for tally in tallies}
    seats |= {(tally.tournament, tally.second_seat): index[tally.second] for tally in tallies}
    book = RatedMatches(where)
    book.update(store)
    forfeits = count_forfeits(
        tallies, lambda tally: ((tally.first, tally.second), (tally.second, tally.first))
    )
    return _met(book.of_pool(game, pool, index, seats), identities, forfeits)


def _met(
    encounters: Encounters,
    names: Sequence[_Bot],
    forfeits: Mapping[tuple[_Bot, _Bot], Counter[str]],
    look: int = 1,
) -> dict[tuple[_Bot, _Bot], HeadToHead]:
    """Return the encounters of a field by the names of their bots, each from both views."""
    found: dict[tuple[_Bot, _Bot], HeadToHead] = {}
    judged = head_to_head(encounters, look_level(look)) if look > 1 else None
    for place, gap in enumerate(head_to_head(encounters)):
        one, other = names[int(encounters.low[place])], names[int(encounters.high[place])]
        lost = tuple(forfeits.get(pair, Counter()).total() for pair in ((one, other), (other, one)))
        counts = counts_of(encounters, place, (lost[0], lost[1]))
        met = HeadToHead(counts, gap, look, None if judged is None else judged[place])
        found[one, other] = met
        found[other, one] = met.reversed()
    return found


def count_match(store: Store, tournament: TournamentRecord) -> HeadToHead:
    """Return the encounter of a tournament of two bots from the view of the lower seat.

    Each time a finished match is extended, its result is read again at a stricter level; see `look_level`.
    """
    look = int(tomllib.loads(tournament.config).get("looks", 1))
    return meetings(store, tournament, look=look).get((0, 1)) or HeadToHead(EncounterCounts(), NO_MATCH)

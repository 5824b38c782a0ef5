"""Results of encounters: cheap counts while a tournament runs, and full statistics of stored matches."""

from __future__ import annotations

import tomllib
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np
from typing_extensions import override

from arena.rating.model import MEAN_ELO, look_level
from arena.rating.pairs import expected_score
from arena.rating.ratings import NO_MATCH
from arena.results.counts import EncounterCounts, HeadToHead, counts_of
from arena.results.forfeits import count_forfeits
from arena.results.one_moment import at_one_moment
from arena.results.rated_matches import RatedMatches
from arena.results.remembered import gaps_of_encounters
from arena.results.sides import POINTS
from arena_db.records import MatchFilter
from arena_plugins import Outcome

if TYPE_CHECKING:
    from collections.abc import Collection, ItemsView, Iterable, Iterator, Sequence

    from arena.rating.sums import Encounters
    from arena_db.records import MatchRecord, Tally, TournamentRecord
    from arena_db.store import Store

_Bot = TypeVar("_Bot", bound=Hashable)
_TICKED: Final = 20_000
"""Number of matches after which the ticker no longer depends on its initial ratings."""


class Scores:
    """Wins, draws and losses of each encounter, and a running Elo; adding a match takes constant time."""

    def __init__(self, labels: Sequence[str]) -> None:
        """Start without matches; `labels` are by seat."""
        self._labels = labels
        self._points: dict[tuple[str, str], Counter[float]] = defaultdict(Counter)
        self.ticker = Ticker()
        """Incremental Elo by label; it depends on the order of matches, so it is not a rating."""

    def restore(self, store: Store, tournament: TournamentRecord) -> None:
        """Add the matches played before this run; the ticker gets only about the last 20,000."""
        where = MatchFilter(tournament=tournament.name)
        for tally in store.sums.tallies(where):
            seats = self._labels[tally.first_seat], self._labels[tally.second_seat]
            if tally.outcome in POINTS:
                self._points[seats][POINTS[Outcome(tally.outcome)]] += tally.num_matches
        is_long = tournament.num_done > _TICKED
        after = store.matches.last_id(tournament.id) - _TICKED if is_long else 0
        for match in store.matches.played(where, after=after):
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
        """Return both bots of an encounter, and their results from the point of view of the lower seat."""
        one, other = sorted((first, second), key=self._labels.index)
        as_first, as_second = self._points[one, other], self._points[other, one]
        counts = EncounterCounts(
            wins=as_first[1.0] + as_second[0.0],
            draws=as_first[0.5] + as_second[0.5],
            losses=as_first[0.0] + as_second[1.0],
        )
        return one, other, counts


class Meetings(Mapping[tuple[_Bot, _Bot], HeadToHead]):
    """The encounters of some bots by the names of both, each from the point of view of the first one.

    An encounter is computed at its first use. Pairs that have not met are missing.
    """

    def __init__(
        self,
        encounters: Encounters,
        names: Sequence[_Bot],
        forfeits: Mapping[tuple[_Bot, _Bot], Counter[str]],
        look: int = 1,
    ) -> None:
        """Start from the sums of some bots.

        Args:
            encounters: the sums.
            names: the bots, by their index in the sums.
            forfeits: matches that the first bot of a pair forfeited to the second, by termination.
            look: number of times the verdict was read while results accumulated, including this time.
        """
        self._encounters = encounters
        self._look = look
        sides = zip(encounters.low.tolist(), encounters.high.tolist(), strict=True)
        self._pairs: list[tuple[_Bot, _Bot]] = [(names[int(low)], names[int(high)]) for low, high in sides]
        self._forfeits = [
            (forfeits.get((one, other), Counter()).total(), forfeits.get((other, one), Counter()).total())
            for one, other in self._pairs
        ]
        self._places: dict[tuple[_Bot, _Bot], tuple[int, bool]] = {}
        for place, (one, other) in enumerate(self._pairs):
            self._places[one, other] = place, False
            self._places[other, one] = place, True
        self._known: dict[int, HeadToHead] = {}

    @override
    def __getitem__(self, pair: tuple[_Bot, _Bot]) -> HeadToHead:
        place, is_turned = self._places[pair]
        self._compute([place])
        return self._known[place].reversed() if is_turned else self._known[place]

    @override
    def __iter__(self) -> Iterator[tuple[_Bot, _Bot]]:
        return iter(self._places)

    @override
    def __len__(self) -> int:
        return len(self._places)

    @override
    def items(self) -> ItemsView[tuple[_Bot, _Bot], HeadToHead]:
        """Return all pairs with their encounters, which are computed together."""
        self._compute(range(len(self._pairs)))
        return super().items()

    def of(
        self, bots: Collection[_Bot], others: Collection[_Bot] | None = None
    ) -> dict[tuple[_Bot, _Bot], HeadToHead]:
        """Return the encounters of some bots, each from the point of view of one of these.

        Args:
            bots: the bots.
            others: their opponents; None for all.
        """
        found = [
            (one, other) for one, other in self._places if one in bots and (others is None or other in others)
        ]
        self._compute([self._places[pair][0] for pair in found])
        return {pair: self[pair] for pair in found}

    def counts(self) -> dict[tuple[_Bot, _Bot], EncounterCounts]:
        """Return the counts of all encounters, each once, from the side of the bot with the lower index."""
        return dict(zip(self._pairs, counts_of(self._encounters, self._forfeits), strict=True))

    def _compute(self, wanted: Iterable[int]) -> None:
        """Compute the encounters at these indices, unless they are known."""
        places = sorted({place for place in wanted if place not in self._known})
        if not places:
            return
        some = self._encounters.take(np.array(places, dtype=np.int64))
        counts = counts_of(some, [self._forfeits[place] for place in places])
        gaps = gaps_of_encounters(some)
        judged = gaps_of_encounters(some, look_level(self._look)) if self._look > 1 else [None] * len(places)
        for place, own, gap, at_look in zip(places, counts, gaps, judged, strict=True):
            self._known[place] = HeadToHead(own, gap, self._look, at_look)


@at_one_moment
def meetings(
    store: Store, tournament: TournamentRecord, book: RatedMatches | None = None, *, look: int = 1
) -> Meetings[int]:
    """Return all encounters of a tournament by pairs of seats, from the point of view of the first seat.

    The lines of a match, the crosstable, its JSON and the dashboard's matrix are derived from these. Pairs
    that have not met are missing.

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
    seats = [entrant.seat for entrant in store.tournaments.entrants(tournament.id)]
    encounters = book.of_tournament(tournament.id, {seat: seat for seat in seats})
    forfeits = count_forfeits(
        store.sums.tallies(where),
        lambda tally: ((tally.first_seat, tally.second_seat), (tally.second_seat, tally.first_seat)),
    )
    return Meetings(encounters, range(max(seats, default=0) + 1), forfeits, look)


def pool_meetings(store: Store, game: str, pool: str, where: MatchFilter | None = None) -> Meetings[str]:
    """Return all encounters of a pool by pairs of identities, from the point of view of the first identity.

    The counterpart of `meetings` for all tournaments of a pool. Pairs that have not met are missing.

    Args:
        store: the store with the matches.
        game: canonical spec.
        pool: name of the pool.
        where: further conditions on the matches; None for all rated ones.
    """
    where = replace(where or MatchFilter(), game=game, pool=pool)
    book = RatedMatches(where)
    book.update(store)
    return meetings_of(store.sums.tallies(where), book, game, pool)


def meetings_of(tallies: Iterable[Tally], book: RatedMatches, game: str, pool: str) -> Meetings[str]:
    """Return the result of `pool_meetings`, for callers that have read the matches already.

    Args:
        tallies: counts of the matches.
        book: the matches.
        game: canonical spec.
        pool: name of the pool.
    """
    tallies = [tally for tally in tallies if tally.first != tally.second]
    identities = sorted({tally.first for tally in tallies} | {tally.second for tally in tallies})
    index = {identity: number for number, identity in enumerate(identities)}
    seats = {(tally.tournament, tally.first_seat): index[tally.first] for tally in tallies}
    seats |= {(tally.tournament, tally.second_seat): index[tally.second] for tally in tallies}
    forfeits = count_forfeits(
        tallies, lambda tally: ((tally.first, tally.second), (tally.second, tally.first))
    )
    return Meetings(book.of_pool(game, pool, index, seats), identities, forfeits)


def count_match(store: Store, tournament: TournamentRecord) -> HeadToHead:
    """Return the encounter of a tournament of two bots from the point of view of the lower seat.

    Each time a finished match is extended, its result is read again at a stricter level; see `look_level`.
    """
    look = int(tomllib.loads(tournament.config).get("looks", 1))
    return meetings(store, tournament, look=look).get((0, 1)) or HeadToHead(EncounterCounts(), NO_MATCH)


@dataclass(slots=True)
class Ticker:
    """Elo updated after each match; shown with a `~`."""

    k: float = 16.0
    """Maximum change in Elo by one match."""
    elo: dict[str, float] = field(default_factory=dict[str, float])
    """Current Elo of each bot that has played."""

    def update(self, first: str, second: str, score: float) -> None:
        """Update both bots after a match.

        Args:
            first: name of the bot that moved first.
            second: name of the other.
            score: points of the first bot, 1, 0.5 or 0.
        """
        # Elo, "The Rating of Chessplayers" (1978), with K = 16.
        change = self.k * (score - expected_score(self.of(first) - self.of(second)))
        self.elo[first], self.elo[second] = self.of(first) + change, self.of(second) - change

    def of(self, bot: str) -> float:
        """Return the current Elo of a bot; 1500 before its first match."""
        return self.elo.get(bot, MEAN_ELO)

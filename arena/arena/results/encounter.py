"""What is known of two bots while a tournament runs, and all of it when a match of two bots is over."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from arena.rating.fit import head_to_head
from arena.rating.ratings import NO_MATCH
from arena.rating.ticker import Ticker
from arena.results.book import RatedMatches
from arena.results.counts import EncounterCounts, HeadToHead, counts_of
from arena.results.forfeits import count_forfeits
from arena.results.sides import POINTS
from arena_db.records import MatchFilter
from arena_plugins import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from arena_db.records import MatchRecord, PlannedMatch, TournamentRecord
    from arena_db.store import Store


class Scores:
    """Wins, draws and losses of each encounter, and Elo as it goes; every match costs the same."""

    def __init__(self, planned: Iterable[PlannedMatch], labels: Sequence[str]) -> None:
        """Take the plan and the labels by seat."""
        self._planned = {match.number: match for match in planned}
        self._labels = labels
        self._points: dict[tuple[int, int], Counter[float]] = defaultdict(Counter)
        self.ticker = Ticker()
        """Incremental Elo by label; it depends on the order of the matches and is no rating."""

    def add(self, record: MatchRecord) -> None:
        """Add a match; one that is not rated is passed over."""
        if not record.rated:
            return
        match = self._planned[record.number]
        points = POINTS[Outcome(record.outcome)]
        self.ticker.update(self._labels[match.first], self._labels[match.second], points)
        self._points[match.first, match.second][points] += 1

    def encounter(self, number: int) -> tuple[str, str, EncounterCounts]:
        """Give both bots of a planned match, and their results as the one of the lower seat sees them."""
        match = self._planned[number]
        one, other = sorted((match.first, match.second))
        first, second = self._points[one, other], self._points[other, one]
        counts = EncounterCounts(
            wins=first[1.0] + second[0.0],
            draws=first[0.5] + second[0.5],
            losses=first[0.0] + second[1.0],
        )
        return self._labels[one], self._labels[other], counts


def meetings(
    store: Store, tournament: TournamentRecord, book: RatedMatches | None = None
) -> dict[tuple[int, int], HeadToHead]:
    """Return all that is known of each two bots of a tournament, by their seats, as the first named sees it.

    Match line, crosstable, its JSON and the matrix of the dashboard are views of it. Two bots that have not
    met are missing.

    Args:
        store: where it is.
        tournament: whose rated matches.
        book: of these matches, if one was read before.
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
    found: dict[tuple[int, int], HeadToHead] = {}
    for place, gap in enumerate(head_to_head(encounters)):
        one, other = int(encounters.low[place]), int(encounters.high[place])
        lost = forfeits[one, other].total(), forfeits[other, one].total()
        met = found[one, other] = HeadToHead(counts_of(encounters, place, lost), gap)
        found[other, one] = met.reversed()
    return found


def count_match(store: Store, tournament: TournamentRecord) -> HeadToHead:
    """Count all rated matches of a tournament of two bots, as the one of the lower seat sees them."""
    return meetings(store, tournament).get((0, 1)) or HeadToHead(EncounterCounts(), NO_MATCH)

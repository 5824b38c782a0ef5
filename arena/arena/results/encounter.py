"""What is known of two bots while a tournament runs, and all of it when a match of two bots is over."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from arena.rating.fit import head_to_head
from arena.rating.ratings import NO_MATCH
from arena.rating.ticker import Ticker
from arena.results.book import RatedMatches
from arena.results.counts import EncounterCounts, HeadToHead, counts_of
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


def count_match(store: Store, tournament: TournamentRecord) -> HeadToHead:
    """Count all rated matches of a tournament of two bots, as the one of the lower seat sees them."""
    book = RatedMatches(MatchFilter(tournament=tournament.name))
    book.update(store)
    encounters = book.of_tournament(tournament.id, {0: 0, 1: 1})
    if not len(encounters):
        return HeadToHead(EncounterCounts(), NO_MATCH)
    return HeadToHead(counts_of(encounters, 0), head_to_head(encounters)[0])

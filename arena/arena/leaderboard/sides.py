"""Counts of results and forfeits per bot and side."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple


from arena_plugins import Outcome, Termination

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena_db.records import Tally

POINTS = {Outcome.FIRST: 1.0, Outcome.DRAW: 0.5, Outcome.SECOND: 0.0}
_FAULT_COLUMN = {
    Termination.TIME_MOVE: "time",
    Termination.TIME_GAME: "time",
    Termination.ILLEGAL_MOVE: "illegal",
    Termination.CRASH: "crash",
}


class Field(NamedTuple):
    """The bots of a table and their results."""

    names: tuple[str, ...]
    key_of: Callable[[Tally], tuple[int, int]]
    """Gives the indices of a tally's first and second bot."""
    tallies: tuple[Tally, ...]


class Sides:
    """Counts results and forfeits per bot and side."""

    def __init__(self, field: Field) -> None:
        self.names = field.names
        self.results: dict[tuple[int, int], Counter[float]] = defaultdict(Counter)
        """Points to number of matches, by bot and side (0 first, 1 second)."""
        self.unique: Counter[int] = Counter()
        self.faults: Counter[tuple[int, str]] = Counter()
        for tally in field.tallies:
            if tally.rated:
                self._add(tally, *field.key_of(tally))

    def _add(self, tally: Tally, first: int, second: int) -> None:
        points = POINTS[Outcome(tally.outcome)]
        self.results[first, 0][points] += tally.num_matches
        self.results[second, 1][1 - points] += tally.num_matches
        self.unique[first] += tally.num_unique
        self.unique[second] += tally.num_unique
        ended = Termination(tally.termination)
        if ended.is_fault:
            loser = second if points else first
            self.faults[loser, _FAULT_COLUMN.get(ended, "other")] += tally.num_matches

    def score(self, bot: int, side: int) -> float | None:
        """Give points per match on one side; None without matches there."""
        results = self.results[bot, side]
        games = results.total()
        return sum(points * number for points, number in results.items()) / games if games else None

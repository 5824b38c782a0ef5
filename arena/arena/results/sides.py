"""Counts of results and forfeits per bot and side."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

from arena.results.forfeits import loser
from arena_plugins import Outcome, Termination

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena_db.records import PoolTally, Tally

POINTS = {Outcome.FIRST: 1.0, Outcome.DRAW: 0.5, Outcome.SECOND: 0.0}
_POINTS_OF: Mapping[str, float] = {outcome.value: points for outcome, points in POINTS.items()}
"""`POINTS` by the text of the outcome, for faster lookups: a table adds up thousands of tallies."""
_FAULT_COLUMN = {
    Termination.TIME_MOVE: "time",
    Termination.TIME_GAME: "time",
    Termination.ILLEGAL_MOVE: "illegal",
    Termination.CRASH: "crash",
}


class Result(NamedTuple):
    """A tally of rated matches between two bots of a field."""

    first: int
    """Index in the field of the bot that moved first."""
    second: int
    tally: Tally | PoolTally

    @property
    def points(self) -> float:
        """Points of the first bot in each match."""
        return _POINTS_OF[self.tally.outcome]


class GamePool(NamedTuple):
    """The matches that ratings compare: those of one game and one pool."""

    game: str
    """Canonical spec."""
    pool: str
    """Name of the pool; a leaderboard may mix all of them."""


class BotTable(NamedTuple):
    """The bots of a table and their results."""

    of: GamePool
    names: tuple[str, ...]
    identities: tuple[str, ...]
    results: tuple[Result, ...]


class Sides:
    """Counts results and forfeits per bot and side."""

    def __init__(self, results: tuple[Result, ...]) -> None:
        self.results: dict[tuple[int, int], Counter[float]] = defaultdict(Counter)
        """Number of matches by points, for each bot and side (0 first, 1 second)."""
        self.faults: Counter[tuple[int, str]] = Counter()
        for result in results:
            self._add(result)

    def _add(self, result: Result) -> None:
        first, second, tally = result
        points = result.points
        self.results[first, 0][points] += tally.num_matches
        self.results[second, 1][1 - points] += tally.num_matches
        player = loser(tally)
        if player is not None:
            column = _FAULT_COLUMN.get(Termination(tally.termination), "other")
            self.faults[(first, second)[player], column] += tally.num_matches

    def score(self, bot: int, side: int) -> float | None:
        """Return points per match on one side; None without matches there."""
        results = self.results[bot, side]
        games = results.total()
        return sum(points * number for points, number in results.items()) / games if games else None

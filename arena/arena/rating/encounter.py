"""Counts the matches of two bots: results, pairs, and how many of both are unique."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from arena.rating.pairs import NUM_PAIR_CELLS, TwoBotStats, statistics

if TYPE_CHECKING:
    from collections.abc import Iterable

_PtnmlCells: TypeAlias = "tuple[int, int, int, int, int]"
_Results: TypeAlias = "tuple[int, int, int]"
"""Wins, draws, losses."""


@dataclass(frozen=True, slots=True)
class MatchResult:
    """One match of an encounter, seen by the bot named first."""

    pair: int
    """Number of the MatchPair it belongs to."""
    is_first: bool
    """Whether the bot named first moved first."""
    score: float
    """Its points: 1, 0.5 or 0."""
    match_hash: str
    """Equal for equal matches, symmetries included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EncounterCounts:
    """An encounter in numbers, seen by the bot named first."""

    wins: int = 0
    draws: int = 0
    losses: int = 0
    ptnml: _PtnmlCells = (0, 0, 0, 0, 0)
    """Complete pairs by points: LL, LD, DD + WL, WD, WW."""
    num_unique: int = 0
    """Matches that differ in hash, side or outcome."""
    num_unique_pairs: int = 0
    """Pairs that differ in one of their matches."""
    moving_first: _Results = (0, 0, 0)
    """Wins, draws and losses of the matches in which it moved first."""
    moving_second: _Results = (0, 0, 0)

    @property
    def num_matches(self) -> int:
        """Matches in all."""
        return self.wins + self.draws + self.losses

    @property
    def num_pairs(self) -> int:
        """Complete pairs."""
        return sum(self.ptnml)

    @property
    def score(self) -> float | None:
        """Points per match; None without matches."""
        return (self.wins + self.draws / 2) / self.num_matches if self.num_matches else None

    @property
    def draw_ratio(self) -> float | None:
        """Draws per match; None without matches."""
        return self.draws / self.num_matches if self.num_matches else None

    @property
    def drawn_pairs(self) -> float | None:
        """Pairs that gave both sides the same, per pair; None without pairs."""
        return self.ptnml[2] / self.num_pairs if self.num_pairs else None

    @property
    def pairs_ratio(self) -> float | None:
        """Pairs won per pair lost; None without lost pairs."""
        lost, won = sum(self.ptnml[:2]), sum(self.ptnml[3:])
        return won / lost if lost else None

    @property
    def is_mostly_repeated(self) -> bool:
        """Whether under half of the pairs (of the matches where there are no pairs) are unique."""
        if self.num_pairs:
            return self.num_unique_pairs < self.num_pairs / 2
        return self.num_unique < self.num_matches / 2

    @property
    def statistics(self) -> TwoBotStats:
        """Elo, LOS and nElo: from the pairs if there are any, else from the matches."""
        if self.num_pairs:
            return statistics(self.ptnml, unique=self.num_unique_pairs / self.num_pairs)
        unique = self.num_unique / self.num_matches if self.num_matches else 1.0
        return statistics((self.losses, self.draws, self.wins), unique=unique)


def count_encounter(results: Iterable[MatchResult]) -> EncounterCounts:
    """Counts the matches of one encounter; their order does not matter.

    Two matches of one number with sides swapped are a pair. A match without its counterpart, and matches with
    the same side to move first, count as matches only.
    """
    results = list(results)
    wins, losses = (sum(result.score == score for result in results) for score in (1, 0))
    pairs = [pair for pair in split_pairs(results) if len(pair) > 1]
    cells = [0] * NUM_PAIR_CELLS
    for pair in pairs:
        cells[round(2 * sum(match.score for match in pair))] += 1
    return EncounterCounts(
        wins=wins,
        draws=len(results) - wins - losses,
        losses=losses,
        ptnml=(cells[0], cells[1], cells[2], cells[3], cells[4]),
        num_unique=len({_key(result) for result in results}),
        num_unique_pairs=len({frozenset(_key(match) for match in pair) for pair in pairs}),
        moving_first=_results(result.score for result in results if result.is_first),
        moving_second=_results(result.score for result in results if not result.is_first),
    )


def _results(scores: Iterable[float]) -> _Results:
    found = list(scores)
    return found.count(1), found.count(0.5), found.count(0)


def split_pairs(results: Iterable[MatchResult]) -> list[list[MatchResult]]:
    """Complete pairs as lists of two, all other matches as lists of one."""
    by_pair: dict[int, list[MatchResult]] = defaultdict(list)
    for result in results:
        by_pair[result.pair].append(result)
    split: list[list[MatchResult]] = []
    for matches in by_pair.values():
        is_pair = sorted(match.is_first for match in matches) == [False, True]
        split += [matches] if is_pair else [[match] for match in matches]
    return split


def _key(result: MatchResult) -> tuple[str, bool, float]:
    """What makes a match unique within its encounter."""
    return result.match_hash, result.is_first, result.score

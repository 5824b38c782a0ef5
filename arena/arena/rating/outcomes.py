"""Pairs of matches by how they ended: what a bootstrap draws from."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from arena.rating.encounter import count_encounter, split_pairs
from arena.rating.model import PairResult

if TYPE_CHECKING:
    from collections.abc import Iterable

    from arena.rating.encounter import MatchResult


@dataclass(frozen=True, slots=True)
class PairOutcome:
    """How often a pair of two bots ended in one way; one side is None for a match without counterpart."""

    i: int
    """Index of one bot; the points are its."""
    j: int
    """Index of the other."""
    as_first: float | None
    """Points where it moved first: 1, 0.5 or 0."""
    as_second: float | None
    """Points where it moved second."""
    count: float = 1.0
    """Pairs that ended so; need not be whole."""

    def results(self, times: float) -> list[PairResult]:
        """The matches in it, `times` over."""
        found: list[PairResult] = []
        if self.as_first is not None:
            found.append(_result(self.i, self.j, self.as_first, times))
        if self.as_second is not None:
            found.append(_result(self.j, self.i, 1 - self.as_second, times))
        return found


def pair_outcomes(i: int, j: int, results: Iterable[MatchResult]) -> list[PairOutcome]:
    """The matches of an encounter as pairs, each weighing unique / total matches.

    Args:
        i: index of the bot whose view `results` take.
        j: index of the other one.
        results: matches of the encounter.
    """
    results = list(results)
    counts = count_encounter(results)
    weights: dict[tuple[float | None, float | None], float] = defaultdict(float)
    for pair in split_pairs(results):
        points = {match.is_first: match.score for match in pair}
        weights[points.get(True), points.get(False)] += counts.num_unique / counts.num_matches
    return [PairOutcome(i, j, *key, weight) for key, weight in weights.items()]


def _result(first: int, second: int, score: float, times: float) -> PairResult:
    """`times` matches in which the first player took `score`."""
    is_decided = score in (0, 1)
    return PairResult(first, second, times * (score == 1), times * (not is_decided), times * (score == 0))

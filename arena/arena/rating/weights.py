"""How much repeated matches count: each match of an encounter weighs unique / total."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from arena.rating.model import PairResult

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

_EncounterKey: TypeAlias = "tuple[Hashable, int, int]"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeCount:
    """How often two bots met with one result."""

    first: int
    """Index of the bot that moved first."""
    second: int
    """Index of the other one."""
    score: float
    """Points of the first player: 1, 0.5 or 0."""
    num_matches: int
    num_unique: int
    """Distinct ones among them."""
    tournament: Hashable = None
    """Encounters of different tournaments are weighed on their own."""


def weigh(rows: Iterable[OutcomeCount]) -> list[PairResult]:
    """Turns counts into results whose weights per encounter add up to its number of unique matches."""
    kept = [row for row in rows if row.num_matches > 0]
    totals: dict[_EncounterKey, int] = defaultdict(int)
    uniques: dict[_EncounterKey, int] = defaultdict(int)
    for row in kept:
        totals[_encounter(row)] += row.num_matches
        uniques[_encounter(row)] += row.num_unique
    return [
        _result(row, row.num_matches * uniques[_encounter(row)] / totals[_encounter(row)]) for row in kept
    ]


def _encounter(row: OutcomeCount) -> _EncounterKey:
    """The encounter a row belongs to, whoever moved first."""
    return row.tournament, min(row.first, row.second), max(row.first, row.second)


def _result(row: OutcomeCount, weight: float) -> PairResult:
    """One row as a result of the first player."""
    wins, draws = weight * (row.score == 1), weight * (row.score == 0.5)  # noqa: PLR2004 (points of a draw)
    return PairResult(row.first, row.second, wins, draws, weight - wins - draws)

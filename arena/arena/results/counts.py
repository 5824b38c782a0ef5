"""Counts of an encounter of two bots: results, pairs, the number of pairs that count, and the Elo gap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from arena.rating.pairs import normalized

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.rating.ratings import Gap
    from arena.rating.sums import Encounters

_PtnmlCells: TypeAlias = "tuple[int, int, int, int, int]"
_Results: TypeAlias = "tuple[int, int, int]"
"""Wins, draws, losses."""
_FEW_OPENINGS = 8
"""Number of openings below which the evidence text mentions their number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EncounterCounts:
    """Counts of an encounter from the point of view of the bot named first."""

    wins: int = 0
    draws: int = 0
    losses: int = 0
    ptnml: _PtnmlCells = (0, 0, 0, 0, 0)
    """Complete pairs by points: LL, LD, DD + WL, WD, WW."""
    num_unique: int = 0
    """Number of matches that differ in side, opening or moves."""
    num_unique_pairs: int = 0
    """Number of pairs that count: all, or one per opening if most matches repeat earlier ones."""
    num_openings: int = 0
    """Number of different openings."""
    moving_first: _Results = (0, 0, 0)
    """Wins, draws and losses of the matches in which the bot moved first."""
    moving_second: _Results = (0, 0, 0)
    forfeits: tuple[int, int] = (0, 0)
    """Matches forfeited by the bot and by its opponent; they are included in losses and wins."""

    def reversed(self) -> EncounterCounts:
        """Return the same counts from the point of view of the other bot."""
        return EncounterCounts(
            wins=self.losses,
            draws=self.draws,
            losses=self.wins,
            ptnml=(self.ptnml[4], self.ptnml[3], self.ptnml[2], self.ptnml[1], self.ptnml[0]),
            num_unique=self.num_unique,
            num_unique_pairs=self.num_unique_pairs,
            num_openings=self.num_openings,
            moving_first=_turned(self.moving_second),
            moving_second=_turned(self.moving_first),
            forfeits=(self.forfeits[1], self.forfeits[0]),
        )

    @property
    def num_matches(self) -> int:
        """Number of matches."""
        return self.wins + self.draws + self.losses

    @property
    def num_pairs(self) -> int:
        """Number of complete pairs."""
        return sum(self.ptnml)

    @property
    def score(self) -> float | None:
        """Points per match; None without matches."""
        return score_of((self.wins, self.draws, self.losses))

    @property
    def draw_ratio(self) -> float | None:
        """Draws per match; None without matches."""
        return self.draws / self.num_matches if self.num_matches else None

    @property
    def drawn_pairs(self) -> float | None:
        """Share of pairs in which both bots got the same points; None without pairs."""
        return self.ptnml[2] / self.num_pairs if self.num_pairs else None

    @property
    def pairs_ratio(self) -> float | None:
        """Pairs won per pair lost; None without lost pairs."""
        lost, won = sum(self.ptnml[:2]), sum(self.ptnml[3:])
        return won / lost if lost else None

    @property
    def is_mostly_repeated(self) -> bool:
        """Whether fewer than half of the pairs count."""
        return self.num_unique_pairs < self.num_pairs / 2

    @property
    def normalized(self) -> tuple[float, float]:
        """Normalized Elo and half of its 95 % interval, from pairs if there are any, else from matches."""
        if self.num_pairs:
            return normalized(self.ptnml, unique=self.num_unique_pairs / self.num_pairs)
        return normalized((self.losses, self.draws, self.wins))

    @property
    def evidence(self) -> str:
        """The basis of the figures, in words."""
        told = _with_singles(
            say_pairs(self.num_unique_pairs, self.num_pairs),
            self.num_pairs,
            self.num_matches - 2 * self.num_pairs,
        )
        if 0 < self.num_openings < _FEW_OPENINGS and self.num_matches > 2 * self.num_openings:
            told += f", from {self.num_openings} opening{'s' * (self.num_openings > 1)} only"
        return told


def say_evidence(counted: int, num_pairs: int, alone: int) -> str:
    """Return the basis of a rating in a few words: `18 of 20 pairs, 1 single match`."""
    return _with_singles(f"{counted} of {num_pairs} pairs", num_pairs, alone)


def _with_singles(pairs: str, num_pairs: int, alone: int) -> str:
    """Append the number of matches without a pair; without pairs, return only that number."""
    if not alone:
        return pairs
    singles = f"{alone} single match{'es' * (alone > 1)}"
    return f"{pairs}, {singles}" if num_pairs else singles


def say_pairs(counted: int, num_pairs: int) -> str:
    """Return how many pairs count: `25 of 25 pairs`, or how many repeat earlier ones."""
    if counted == num_pairs:
        return f"{counted} of {num_pairs} pairs"
    more = num_pairs - counted
    repeat = (
        "the other one repeats an earlier one and counts"
        if more == 1
        else (f"the other {more} repeat earlier ones and count")
    )
    return f"{counted} different pair{'s' * (counted != 1)} in {num_pairs}; {repeat} once"


@dataclass(frozen=True, slots=True)
class HeadToHead:
    """Two bots with their encounter, and the rating difference estimated from that encounter alone."""

    counts: EncounterCounts
    gap: Gap
    look: int = 1
    """Number of times the verdict was read while results accumulated, including this time."""
    judged: Gap | None = None
    """The gap at the confidence level of this look, which decides the verdict; None at the first look."""

    @property
    def verdict(self) -> Gap:
        """The gap that decides whether the bots are separated."""
        return self.gap if self.judged is None else self.judged

    def reversed(self) -> HeadToHead:
        """Return the same encounter from the point of view of the other bot."""
        judged = None if self.judged is None else self.judged.reversed()
        return HeadToHead(self.counts.reversed(), self.gap.reversed(), self.look, judged)


def score_of(results: _Results) -> float | None:
    """Return the points per match of wins, draws and losses; None without matches."""
    wins, draws, losses = results
    total = wins + draws + losses
    return (wins + draws / 2) / total if total else None


def _turned(results: _Results) -> _Results:
    wins, draws, losses = results
    return losses, draws, wins


def counts_of(encounters: Encounters, forfeits: Sequence[tuple[int, int]] = ()) -> list[EncounterCounts]:
    """Return the counts of encounters, each from the point of view of the bot with the lower index.

    Args:
        encounters: the encounters.
        forfeits: matches forfeited by the bot with the lower and by the bot with the higher index, for each
            encounter; empty for no forfeits.
    """
    columns = (
        encounters.results.astype(int).tolist(),
        encounters.ptnml.astype(int).tolist(),
        encounters.num_different.astype(int).tolist(),
        encounters.num_counted.astype(int).tolist(),
        encounters.num_openings.astype(int).tolist(),
        forfeits or [(0, 0)] * len(encounters),
    )
    return [
        EncounterCounts(
            wins=first[2] + second[2],
            draws=first[1] + second[1],
            losses=first[0] + second[0],
            ptnml=(cells[0], cells[1], cells[2], cells[3], cells[4]),
            num_unique=num_unique,
            num_unique_pairs=num_counted,
            num_openings=num_openings,
            moving_first=(first[2], first[1], first[0]),
            moving_second=(second[2], second[1], second[0]),
            forfeits=lost,
        )
        for (first, second), cells, num_unique, num_counted, num_openings, lost in zip(*columns, strict=True)
    ]

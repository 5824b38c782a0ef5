"""Simulated ladders of bots with known strengths."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena.pairing.schedule import stable_encounter
from arena.rating.fit import fit
from arena.rating.model import LOGITS_PER_ELO
from arena.rating.sums import MatchArrays, RatedMatch, encounters
from arena.schedules.ladder import LadderSchedule
from arena.schedules.protocol import Participant, View
from arena.schedules.seat_counts import SeatCounts
from arena_db.records import PlannedMatch
from rating_worlds import World, chances
from schedules import SimulatedEvent, play_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.rating.ratings import Ratings
    from arena.rating.sums import FloatArray

WORLD = World(draws=0.3)
OPENINGS = [(place,) for place in range(500)]


class SimulatedLadder(SimulatedEvent):
    """A ladder of bots with known strengths; views are only requested between batches."""

    def __init__(
        self, strengths: Sequence[float], seed: int, *, until: float | None = None, shows_errors: bool = False
    ) -> None:
        super().__init__(LadderSchedule(seed=seed, openings=OPENINGS, until=until), len(strengths))
        self.strengths = list(strengths)
        self.shows_errors = shows_errors
        self._rng = np.random.default_rng([seed, 1])
        self._matches = MatchArrays()
        self._counts = SeatCounts()
        self._rated: tuple[tuple[int, int], Ratings] | None = None

    def join(self, strength: float) -> int:
        """Add a bot, and return its seat."""
        self.strengths.append(strength)
        seat = len(self.seats)
        self.seats = (*self.seats, Participant(f"bot-{seat}", joined=seat))
        return seat

    def view(self) -> View:
        """Return what the schedule may see now, with sums that grow."""
        self._add_up()
        errors = (lambda: self.ratings().error) if self.shows_errors else None
        return View(
            seats=self.seats, plan=self.plan, results=self.results, counts=self._counts, errors=errors
        )

    def ratings(self) -> Ratings:
        """Return the ratings by all matches."""
        self._add_up()
        known = (self._counts.num_planned, len(self.seats))
        if self._rated is None or self._rated[0] != known:
            self._rated = known, fit(encounters(self._matches), len(self.seats))
        return self._rated[1]

    def play(self, num_pairs: int) -> None:
        """Play at least so many further pairs, in whole batches."""
        play_all(self, 2**30, self._result, limit=len(self.plan) + 2 * num_pairs)

    def fill(self, num_pairs: int, reach: int = 16) -> None:
        """Play pairs of bots at most `reach` ranks apart; they are drawn without the schedule."""
        order = np.argsort(self.strengths)
        first = self._rng.integers(0, len(order) - 1, num_pairs)
        farthest = np.minimum(reach, len(order) - 1 - first)
        second = first + 1 + (self._rng.random(num_pairs) * farthest).astype(np.int64)
        met: Counter[int] = Counter()
        for low, high in np.sort(np.stack([order[first], order[second]], axis=1), axis=1).tolist():
            encounter = stable_encounter(low, high)
            for one, other in ((low, high), (high, low)):
                match = PlannedMatch(
                    number=len(self.plan) + 1,
                    encounter=encounter,
                    match_no=met[encounter],
                    first=one,
                    second=other,
                    opening=OPENINGS[met[encounter] // 2],
                )
                met[encounter] += 1
                self.plan.append(match)
                self.results[encounter, match.match_no] = self._result(match)

    def _result(self, match: PlannedMatch) -> float:
        gap = np.array([self.strengths[match.first] - self.strengths[match.second]]) * LOGITS_PER_ELO
        law = chances(gap, np.array([WORLD.advantage * LOGITS_PER_ELO]), WORLD)[0][0]
        points = float(self._rng.choice(3, p=law)) / 2
        return points if match.first < match.second else 1 - points

    def _add_up(self) -> None:
        rated: list[RatedMatch] = []
        new = self.plan[self._counts.num_planned :]
        self._counts.add(new, self.results)
        for match in new:
            low = self.results[match.encounter, match.match_no]
            assert low is not None
            points = low if match.first < match.second else 1 - low
            pair = (match.number - 1) // 2
            rated.append(RatedMatch(match.first, match.second, points, pair, match.opening, match.number))
        self._matches.add(rated)


class MeasuredLadder(NamedTuple):
    """Accuracy of the ratings of one ladder."""

    ratings: float
    """Share of ratings whose interval contains the truth."""
    adjacent: float
    """Share of gaps between neighbours in the true ranking whose interval contains the truth."""
    ends: float
    """Whether the interval of the gap between best and worst contains the truth, 1 or 0."""
    bias: float
    """Estimated minus true gap between best and worst, Elo."""
    square: float
    """Mean squared error of ratings, Elo squared."""
    tau: float
    """Kendall's tau between true and found ranking."""
    best: float
    """Whether the best bot is first, 1 or 0."""


def measure_ladder(num_bots: int, pairs_each: int, seed: int) -> MeasuredLadder:
    """Play a ladder of bots with a standard deviation of 250 Elo, and compare its ratings with the truth."""
    truth = np.random.default_rng(seed).normal(0, 250, num_bots)
    truth -= truth.mean()
    ladder = SimulatedLadder(truth.tolist(), seed)
    ladder.play(num_bots * pairs_each // 2)
    ratings = ladder.ratings()
    order = np.argsort(-truth).tolist()
    gaps = ratings.gaps([*pairwise(order), (order[0], order[-1])])
    true = [*(truth[order[:-1]] - truth[order[1:]]).tolist(), float(truth[order[0]] - truth[order[-1]])]
    held = [gap.low <= value <= gap.high for gap, value in zip(gaps, true, strict=True)]
    away: FloatArray = ratings.strength - truth
    error: FloatArray = np.array(ratings.error, dtype=np.float64)
    i, j = np.triu_indices(num_bots, 1)
    signs = np.sign(truth[i] - truth[j]) * np.sign(ratings.strength[i] - ratings.strength[j])
    return MeasuredLadder(
        ratings=float(np.mean(np.abs(away) <= error)),
        adjacent=float(np.mean(held[:-1])),
        ends=float(held[-1]),
        bias=gaps[-1].elo - true[-1],
        square=float(np.mean(away**2)),
        tau=float(signs.mean()),
        best=float(np.argmax(ratings.strength) == order[0]),
    )


class MeasuredNewcomer(NamedTuple):
    """How a bot found its place in a field that had played before."""

    pairs: float
    """Number of pairs until the interval of its rating was within 60 Elo."""
    held: float
    """Whether that interval contained its strength above the mean of the field, 1 or 0."""
    away: float
    """Its rating minus its strength, Elo."""


def measure_newcomer(elo: float, seed: int, *, num_bots: int = 12, pairs_each: int = 300) -> MeasuredNewcomer:
    """Add a bot of `elo` above the mean to a field with a standard deviation of 250 Elo."""
    truth = np.random.default_rng(seed).normal(0, 250, num_bots)
    truth -= truth.mean()
    ladder = SimulatedLadder(truth.tolist(), seed)
    ladder.play(num_bots * pairs_each // 2)
    seat = ladder.join(elo)
    ladder.shows_errors = True
    while (error := ladder.ratings().error[seat]) > 60:  # the goal of a newcomer
        ladder.play(1)
    true = np.array(ladder.strengths)
    away = float(ladder.ratings().strength[seat] - (true[seat] - true.mean()))
    return MeasuredNewcomer(_pairs_of(ladder, seat), float(abs(away) <= error), away)


def _pairs_of(ladder: SimulatedLadder, seat: int) -> float:
    return sum(seat in {match.first, match.second} for match in ladder.plan) / 2

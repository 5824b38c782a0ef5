"""Simulated sequential tests of two bots with a known difference, many at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
from typing_extensions import override

from arena.rating.model import LOGITS_PER_ELO
from arena.rating.pairs import NUM_PAIR_CELLS, expected_elo, moments, normalized_elo
from arena.rating.sprt import bounds, log_likelihood_ratios
from arena.schedules.sprt_schedule import SprtState, SprtTest, looks
from rating_worlds import World, chances

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.rating.sums import FloatArray, IntArray
    from arena.schedules.protocol import MatchKey
    from arena.schedules.sprt_schedule import SprtDecision

    Rng = np.random.Generator

WORLDS = {
    "11 % draws": World(draws=0.11, advantage=40),
    "50 % draws": World(draws=0.5, advantage=40),
    "biased openings": World(draws=0.3, advantage=40, opening_sd=200),
}
NUM_OPENINGS = 972
"""Drawn positions of Connect Four after six plies."""
_QUANTILES = 801
"""Number of quantiles of the openings' bias over which a mean over all openings is computed."""


def pair_laws(elo: float, z: FloatArray, world: World) -> FloatArray:
    """Return the probabilities of 0 to 4 half points of a pair from each opening, `[openings, 5]`.

    Args:
        elo: strength of the tested bot above the other, before openings.
        z: bias of each opening in standard deviations, `[openings]`.
        world: the other parameters.
    """
    shift = (world.advantage + world.opening_sd * z) * LOGITS_PER_ELO
    first, second = chances(np.full(len(z), elo) * LOGITS_PER_ELO, shift, world)
    laws = np.zeros((len(z), NUM_PAIR_CELLS))
    for i in range(3):
        for j in range(3):
            laws[:, i + j] += first[:, i] * second[:, j]
    return laws


def mean_law(elo: float, world: World) -> FloatArray:
    """Return the probabilities of 0 to 4 half points of a pair from a random opening, `[5]`."""
    normal = NormalDist()
    z = np.array([normal.inv_cdf((place + 0.5) / _QUANTILES) for place in range(_QUANTILES)])
    return pair_laws(elo, z, world).mean(axis=0)


def true_elo(elo: float, world: World) -> float:
    """Return the Elo of the score, which openings make smaller than the strength before them."""
    return expected_elo(moments(mean_law(elo, world).tolist()).mean)


def elo_of(nelo: float, world: World) -> float:
    """Return the strength in Elo that corresponds to a normalized Elo."""
    low, high = -1000.0, 1000.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        if normalized_elo(moments(mean_law(middle, world).tolist())) < nelo:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def play_pairs(elo: float, world: World, num_runs: int, num_pairs: int, rng: Rng) -> IntArray:
    """Return half points of the tested bot, `[runs, pairs]`; each pair has an opening of its own."""
    z = rng.standard_normal(num_runs * num_pairs)
    laws = pair_laws(elo, z, world).cumsum(axis=1)
    half = (rng.random(len(z))[:, None] > laws[:, :4]).sum(axis=1)
    return half.reshape(num_runs, num_pairs)


def play_matches(
    elo: float, world: World, num_pairs: int, rng: Rng
) -> tuple[dict[MatchKey, float], dict[MatchKey, float]]:
    """Return points of the tested bot and seconds of each match of a test, by encounter and match number.

    The tested bot wins quickly and loses slowly: in the order of arrival, its wins would count first.
    """
    z = rng.standard_normal(num_pairs)
    shift = (world.advantage + world.opening_sd * z) * LOGITS_PER_ELO
    laws = np.stack(chances(np.full(num_pairs, elo) * LOGITS_PER_ELO, shift, world), axis=1).cumsum(axis=2)
    half = (rng.random((num_pairs, 2))[..., None] > laws[..., :2]).sum(axis=2).reshape(-1)
    lasts = np.where(half == 2, 1.0, 3.0) * rng.uniform(0.9, 1.1, len(half))  # half points of a win
    keys = [(0, number) for number in range(len(half))]
    return dict(zip(keys, (half / 2).tolist(), strict=True)), dict(zip(keys, lasts.tolist(), strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class TabulatedTest(SprtTest):
    """A test of which one course of pairs is known, whose ratios are computed all at once.

    One by one they would take most of the time of a simulated test; the values are the same.
    """

    ratios: dict[tuple[int, ...], float] = field(default_factory=dict[tuple[int, ...], float], compare=False)
    """Log likelihood ratios by cells."""

    def tabulate(self, half_points: IntArray) -> None:
        """Compute the ratio after each pair, `[pairs]`; those of an earlier course are forgotten."""
        counts = np.eye(NUM_PAIR_CELLS, dtype=np.int64)[half_points].cumsum(axis=0)
        found = log_likelihood_ratios(counts.astype(np.float64), self.elo0, self.elo1, model=self.model)
        self.ratios.clear()
        rows: list[list[int]] = counts.tolist()
        self.ratios.update(zip((tuple(row) for row in rows), found.tolist(), strict=True))

    @override
    def ratio(self, cells: tuple[int, ...]) -> float:
        return self.ratios[cells] if any(cells) else 0.0


@dataclass(frozen=True)
class SimulatedTests:
    """The ends of many tests."""

    decision: IntArray
    """1: H1 accepted, 0: undecided, -1: H0 accepted, `[runs]`."""
    num_pairs: IntArray
    """Number of pairs at the end, `[runs]`."""
    cells: IntArray
    """Counts of the pairs' half points at the end, `[runs, 5]`."""


def run_tests(half_points: IntArray, test: SprtTest) -> SimulatedTests:
    """Test each run of pairs until it is decided or ends, as `SprtTest.judge` does one by one."""
    num_runs, num_openings = half_points.shape
    low, high = bounds(test.alpha, test.beta)
    decision = np.zeros(num_runs, dtype=np.int64)
    num_pairs = np.full(num_runs, num_openings)
    ends = np.zeros((num_runs, NUM_PAIR_CELLS), dtype=np.int64)
    running = np.flatnonzero(decision == 0)
    last = 0
    for look in looks(num_openings):
        for half in range(NUM_PAIR_CELLS):
            ends[running, half] += (half_points[running, last:look] == half).sum(axis=1)
        found = log_likelihood_ratios(
            ends[running].astype(np.float64), test.elo0, test.elo1, model=test.model
        )
        decision[running] = (found >= high).astype(np.int64) - (found <= low)
        num_pairs[running] = look
        running, last = np.flatnonzero(decision == 0), look
        if not len(running):
            break
    return SimulatedTests(decision, num_pairs, ends)


@dataclass(frozen=True)
class MeasuredEstimates:
    """Estimates after many tests of one difference."""

    truth: float
    """Elo of the expected score."""
    covered: float
    """Share of intervals that contain the truth."""
    below: float
    """Share of intervals that lie below the truth."""
    bias: float
    """Median of the intervals' midpoints minus the truth, Elo."""
    width: float
    """Mean width of the intervals, Elo."""


def measure_estimates(
    cases: Sequence[tuple[float, World]], test: SprtTest, num_runs: int, seed: int
) -> list[MeasuredEstimates]:
    """Run tests of two bots and compare their estimates with the truth, for each strength and world.

    All tests run in the same arrays, so the longest ones determine the time.
    """
    rng = np.random.default_rng(seed)
    played = [play_pairs(elo, world, num_runs, NUM_OPENINGS, rng) for elo, world in cases]
    found = run_tests(np.concatenate(played), test)
    states = zip(found.decision.tolist(), found.num_pairs.tolist(), found.cells.tolist(), strict=True)
    names: tuple[SprtDecision, ...] = ("undecided", "H1", "H0")
    said = [
        test.estimate(SprtState(names[decision], num, 0.0, tuple(cells))) for decision, num, cells in states
    ]
    rows = np.array([(each.low, each.elo, each.high) for each in said]).reshape(len(cases), num_runs, 3)
    return [_measure(true_elo(elo, world), ends) for (elo, world), ends in zip(cases, rows, strict=True)]


def _measure(truth: float, ends: FloatArray) -> MeasuredEstimates:
    low, middle, high = ends[:, 0], ends[:, 1], ends[:, 2]
    return MeasuredEstimates(
        truth=truth,
        covered=float(np.mean((low <= truth) & (truth <= high))),
        below=float(np.mean(high < truth)),
        bias=float(np.median(middle)) - truth,
        width=float(np.mean(high - low)),
    )

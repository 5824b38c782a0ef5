"""Lengths of sequential tests before they are played, against simulated ones."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from arena.errors import ConfigError
from arena.rating.estimate import SprtEnd, SprtEstimate, chance_beyond
from arena.rating.pairs import expected_elo, expected_score, moments
from arena.rating.sprt import Hypotheses
from arena.schedules.sprt_schedule import SprtState, SprtTest
from plain_interval import plain_interval
from sprt_worlds import WORLDS, measure_estimates

if TYPE_CHECKING:
    from arena.rating.sprt import Decision, EloModel
    from arena.schedules.sprt_schedule import SprtDecision

SEED = 1
LONG = (70, 60, 60, 70, 90)
"""350 pairs with a mean of 0.536."""


USUAL = SprtEnd(cells=LONG, decision=None, last_step=4, test=Hypotheses())


def end(cells: tuple[int, ...], decision: Decision | None) -> SprtEnd:
    return replace(USUAL, cells=cells, decision=decision)


def scaled(cells: tuple[int, ...], factor: float) -> tuple[int, ...]:
    return tuple(round(cell * factor) for cell in cells)


def test_intervals_after_tests_hold_the_truth() -> None:
    """A small part of `make simulate`; with 100 runs a share of 0.95 has a standard error of 0.022."""
    cases = [(0.0, "11 % draws"), (15.0, "50 % draws"), (28.0, "biased openings"), (60.0, "11 % draws")]
    cases += [(110.0, "11 % draws"), (180.0, "50 % draws")]
    found = measure_estimates([(elo, WORLDS[name]) for elo, name in cases], SprtTest(), 100, SEED)
    for case, measured in zip(cases, found, strict=True):
        assert measured.covered >= 0.9, case
        assert abs(measured.bias) <= 12, case
    assert 0.93 <= np.mean([each.covered for each in found]) <= 0.985
    assert abs(np.mean([each.bias for each in found])) <= 5


@pytest.mark.parametrize(("elo0", "elo1"), [(0, 5), (-5, 0), (0, 15)])
def test_intervals_hold_the_truth_where_bots_are_far_apart_and_hypotheses_near(
    elo0: float, elo1: float
) -> None:
    """Such tests have over a hundred pairs, and their number says little about the strength."""
    elos = (60.0, 110.0, 180.0, 400.0)
    cases = [(elo, WORLDS["11 % draws"]) for elo in elos]
    found = measure_estimates(cases, SprtTest(elo0=elo0, elo1=elo1), 100, SEED)
    assert min(each.covered for each in found) >= 0.9
    for elo, measured in zip(elos, found, strict=True):
        # Less than a tenth of an interval.
        assert abs(measured.bias) <= max(12, 0.06 * elo), elo


def test_intervals_hold_the_truth_after_short_tests_of_hypotheses_far_apart() -> None:
    """Such tests end after 40 to 70 pairs even if the bots are close, and their score overstates."""
    cases = [(elo, WORLDS["biased openings"]) for elo in (30.0, 60.0)]
    found = measure_estimates(cases, SprtTest(elo0=0, elo1=100), 300, SEED)
    assert min(each.covered for each in found) >= 0.92
    # The medians of scores are 10 Elo off, in opposite directions.
    assert max(abs(each.bias) for each in found) <= 6


def test_a_test_stopped_beyond_a_bound_has_the_estimate_of_a_decided_one() -> None:
    """Between two looks, wins may push the ratio far beyond its bound; they must not lower the estimate."""
    cells = (79, 148, 177, 200, 95)
    test = SprtTest(elo0=0, elo1=15)
    assert test.ratio(cells) == pytest.approx(2.89, abs=0.01)
    for more in (8, 13):
        beyond = (*cells[:4], cells[4] + more)
        num = sum(beyond)
        stopped = test.estimate(SprtState("undecided", num, test.ratio(beyond), beyond))
        assert stopped == test.estimate(SprtState("H1", num, test.ratio(beyond), beyond))
        assert stopped.high > 30


def test_a_test_that_is_won_throughout_shows_a_large_difference() -> None:
    """The length of the test alone would suggest 31 Elo."""
    found = replace(end((0, 0, 0, 0, 728), "H1"), test=Hypotheses(elo0=0, elo1=1)).estimate()
    assert found.low > 800


def test_ends_are_ordered() -> None:
    """The sooner H1 is accepted, the stronger the bot; an undecided test ranks below, then H0."""
    at = [end(scaled(LONG, factor), "H1").estimate() for factor in (0.4, 0.7, 1, 2)]
    assert [each.elo for each in at] == sorted((each.elo for each in at), reverse=True)
    sides: tuple[Decision | None, ...] = ("H1", None, "H0")
    middles = [end(LONG, side).estimate().elo for side in sides]
    assert middles == sorted(middles, reverse=True)
    lost = LONG[::-1]
    under = [end(scaled(lost, factor), "H0").estimate().elo for factor in (0.4, 0.7, 1, 2)]
    assert under == sorted(under)


def test_a_test_that_is_accepted_is_shown_less_than_its_score() -> None:
    cells = (80, 70, 60, 80, 110)
    shown = end(cells, "H1").estimate()
    low, plain, high = plain_interval(cells)
    assert 0 < shown.elo < plain
    assert shown.low < low
    assert shown.high - shown.low > 0.9 * (high - low)


def test_far_from_the_barriers_the_chance_is_that_of_the_normal_distribution() -> None:
    """For hypotheses close to each other, the drift at an excess of t is t / (1 + t²)."""
    said = replace(USUAL, test=Hypotheses(elo0=-0.5, elo1=0.5, alpha=1e-9, beta=1e-9)).estimate()
    deviation = math.sqrt(moments([cell + 0.25 for cell in LONG]).variance)
    plain = moments(LONG)
    seen = (plain.mean - 0.5) / math.sqrt(plain.variance)
    for shown, quantile in ((said.low, -1.959964), (said.elo, 0.0), (said.high, 1.959964)):
        drift = seen / (1 + seen**2) + quantile / math.sqrt(350)
        # The usual interval of the score would end 2.2 Elo lower.
        excess = (1 - math.sqrt(1 - 4 * drift**2)) / (2 * drift)
        assert shown == pytest.approx(expected_elo(0.5 + deviation * excess), abs=0.3)


@pytest.mark.parametrize("cells", [LONG, (7, 18, 30, 32, 23)])
def test_an_end_has_its_chance_at_each_end_of_the_interval(cells: tuple[int, ...]) -> None:
    """Recomputed independently; the upper end of the short test is in the range where the drift is linear."""
    said = end(cells, "H1").estimate()
    deviation = math.sqrt(moments([cell + 0.25 for cell in cells]).variance)
    t1 = 30 * math.sqrt(2) * math.log(10) / 800

    def formula(excess: float) -> float:
        return math.log((1 + excess**2) / (1 + (excess - t1) ** 2)) / 2 / t1

    slope = (formula(0.5 + 1e-6) - formula(0.5 - 1e-6)) / 2e-6
    barrier = math.log(19) / t1 + 0.583 * 2
    for elo, chance in ((said.low, 0.025), (said.elo, 0.5), (said.high, 0.975)):
        t = (expected_score(elo) - 0.5) / deviation
        drift = formula(t) if t < 0.5 else formula(0.5) + slope * (t - 0.5)
        found = chance_beyond(sum(cells), barrier, drift, -barrier, barrier)
        assert found == pytest.approx(chance, abs=1e-5)
    assert (expected_score(said.high) - 0.5 > 0.5 * deviation) == (cells != LONG)


def test_logistic_hypotheses_are_excesses_by_the_deviation_of_a_pair() -> None:
    deviation = math.sqrt(2 * moments([cell + 0.25 for cell in LONG]).variance)
    normalized = [(expected_score(elo) - 0.5) / deviation * 800 / math.log(10) for elo in (-5, 20)]
    sides: tuple[Decision, ...] = ("H0", "H1")
    for decision in sides:
        ended = replace(USUAL, decision=decision)
        one = replace(ended, test=Hypotheses(elo0=-5, elo1=20, model="logistic")).estimate()
        other = replace(ended, test=Hypotheses(elo0=normalized[0], elo1=normalized[1])).estimate()
        assert (one.low, one.elo, one.high) == pytest.approx((other.low, other.elo, other.high))


@pytest.mark.parametrize(("decision", "num", "step"), [("undecided", 350, 6), ("H1", 204, 4), ("H0", 4, 4)])
def test_a_test_says_how_it_ended(decision: SprtDecision, num: int, step: int) -> None:
    """The test was last checked after 344, 200 and 0 pairs."""
    cells = scaled(LONG, num / 350)
    said = SprtTest().estimate(SprtState(decision, num, 0.0, cells))
    side: Decision | None = None if decision == "undecided" else decision
    assert said == replace(end(cells, side), last_step=step).estimate()
    if num == 350:
        assert said != replace(end(cells, side), last_step=350).estimate()


COUNTS = st.lists(st.integers(0, 200), min_size=5, max_size=5).filter(lambda cells: sum(cells) > 0)


@settings(deadline=None, max_examples=60)
@given(COUNTS, st.sampled_from(["H0", "H1", None]), st.sampled_from(["normalized", "logistic"]))
def test_the_other_bot_has_the_opposite(cells: list[int], decision: Decision | None, model: EloModel) -> None:
    test = Hypotheses(elo0=-5, elo1=20, beta=0.1, model=model)
    ended = replace(end(tuple(cells), decision), test=test)
    flipped: dict[Decision | None, Decision | None] = {"H0": "H1", "H1": "H0", None: None}
    other = Hypotheses(elo0=-20, elo1=5, alpha=0.1, model=model)
    mirror = replace(end(tuple(cells[::-1]), flipped[decision]), test=other)
    one, other = ended.estimate(), mirror.estimate()
    assert one.low <= one.elo <= one.high
    assert all(map(math.isfinite, (one.low, one.elo, one.high)))
    mirrored = (-other.high, -other.elo, -other.low)
    assert (one.low, one.elo, one.high) == pytest.approx(mirrored, rel=1e-4, abs=1e-3)


@pytest.mark.parametrize("cells", [(0, 0, 0, 0, 4), (0, 0, 0, 0, 400), (400, 0, 0, 0, 0), (0, 0, 500, 0, 0)])
def test_ends_are_finite_for_one_sided_results(cells: tuple[int, ...]) -> None:
    for decision in ("H0", "H1", None):
        found = end(cells, decision).estimate()
        assert all(map(math.isfinite, (found.low, found.elo, found.high)))


def test_short_tests_are_plain() -> None:
    cells = (2, 6, 16, 10, 5)
    assert end(cells, "H1").estimate() == end(cells, "H0").estimate()
    found = end(cells, "H1").estimate()
    low, middle, high = plain_interval(cells, student=True)
    assert (found.low, found.elo, found.high) == pytest.approx((low, middle, high), abs=4)
    assert isinstance(found, SprtEstimate)
    # From 40 pairs on, the kind of end matters.
    forty = (5, 8, 10, 9, 8)
    assert end(forty, "H1").estimate() != end(forty, "H0").estimate()


def test_the_interval_of_a_short_test_holds_95_percent_of_students_distribution() -> None:
    cells = [cell + 0.25 for cell in (1, 2, 3, 2, 1)]
    num, scores = sum(cells), (0, 0.25, 0.5, 0.75, 1)
    mean = sum(cell * score for cell, score in zip(cells, scores, strict=True)) / num
    squares = sum(cell * (score - mean) ** 2 for cell, score in zip(cells, scores, strict=True))
    found = end((1, 2, 3, 2, 1), "H1").estimate()
    # Half the interval of the log-odds, in their standard errors by the delta method.
    half = (found.high - found.low) / 2 * math.log(10) / 400
    quantile = half * mean * (1 - mean) / math.sqrt(squares / num**2)
    freedom = num - 1
    scale = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - math.log(freedom * math.pi) / 2
    step = quantile / 1000
    density = [
        math.exp(scale - (freedom + 1) / 2 * math.log1p((place * step) ** 2 / freedom))
        for place in range(1001)
    ]
    share = step * (math.fsum(density) - (density[0] + density[-1]) / 2)
    assert share == pytest.approx(0.475, abs=1e-6)


def test_a_test_without_a_pair_has_no_estimate() -> None:
    with pytest.raises(ConfigError, match="counts"):
        end((0, 0, 0, 0, 0), None).estimate()


SIMULATED = {
    # Mean pairs at H0, between, at H1 and as far beyond it, of 1,000 simulated tests each.
    (0.0, 20.0, 4000): (880, 1456, 870, 310),
    (0.0, 20.0, 972): (675, 800, 672, 317),
    (0.0, 30.0, 972): (385, 560, 372, 143),
}


@pytest.mark.parametrize(("elo0", "elo1", "num_openings"), SIMULATED)
def test_lengths_are_those_of_simulated_tests(elo0: float, elo1: float, num_openings: int) -> None:
    test = SprtTest(elo0=elo0, elo1=elo1)
    strengths = (elo0, (elo0 + elo1) / 2, elo1, 2 * elo1 - elo0)
    found = [test.expected_pairs(elo, num_openings) for elo in strengths]
    assert found == pytest.approx(SIMULATED[elo0, elo1, num_openings], rel=0.05)


def test_a_shifted_or_mirrored_test_is_as_long() -> None:
    gain, other = SprtTest(), SprtTest(elo0=-30, elo1=0)
    assert other.expected_pairs(-30, 972) == pytest.approx(gain.expected_pairs(30, 972), rel=0.001)
    assert other.expected_pairs(30, 972) == pytest.approx(gain.expected_pairs(60, 972), rel=0.02)


def test_a_logistic_test_is_as_long_as_the_normalized_one_of_the_same_difference() -> None:
    # 30 nElo are 28.3 Elo at 11 % draws.
    logistic = SprtTest(elo1=28.3, model="logistic")
    for share in (0.0, 0.5, 1.0, 2.0):
        found = logistic.expected_pairs(28.3 * share, 972)
        assert found == pytest.approx(SprtTest().expected_pairs(30 * share, 972), rel=0.03)


def test_rarer_errors_take_longer_and_few_openings_end_every_test() -> None:
    assert SprtTest(alpha=0.01).expected_pairs(30, 972) > SprtTest().expected_pairs(30, 972)
    assert SprtTest().expected_pairs(15, 12) == pytest.approx(12, abs=0.01)
    assert SprtTest().expected_pairs(600, 972) < 30


TIMES = st.floats(4, 5000)
DRIFTS = st.floats(-2, 2)
BARRIERS = st.floats(2, 300)
SHARES = st.floats(0, 1)


def test_chances_are_those_of_fishtest() -> None:
    text = Path(__file__).with_name("fishtest-motions.txt").read_text(encoding="ascii")
    lines = [line.split(":") for line in text.splitlines() if not line.startswith("#")]
    assert len(lines) == 60
    for motion, chance in lines:
        time, level, drift, low, high = map(float, motion.split())
        found = chance_beyond(time, level, drift, low, high)
        assert found == pytest.approx(float(chance), abs=1e-8), motion


@pytest.mark.parametrize(
    ("time", "drift", "low", "high"),
    [(3.0, 0.0, -3, 3), (30.0, 0.2, -5, 4), (9.0, 1.5, -4, 6), (9.0, -1.5, -4, 6), (0.5, 0.3, -1, 2)],
)
def test_chances_against_a_walk_on_a_fine_grid(time: float, drift: float, low: int, high: int) -> None:
    fine = 40
    at = np.zeros((high - low) * fine + 1)
    at[-low * fine] = 1
    up = (1 + math.tanh(drift / fine)) / 2
    for _ in range(round(time * fine**2)):
        inner = at[1:-1]
        after = np.zeros_like(at)
        after[0], after[-1] = at[0], at[-1]
        after[2:] += inner * up
        after[:-2] += inner * (1 - up)
        at = after
    for level in range(low, high + 1):
        above = at[(level - low) * fine :].sum() - (at[(level - low) * fine] / 2 if level < high else 0)
        above = 1 - at[0] if level == low else above
        assert chance_beyond(time, level, drift, low, high) == pytest.approx(above, abs=2e-3)


@given(TIMES, SHARES, DRIFTS, BARRIERS, BARRIERS)
def test_a_mirrored_motion_has_mirrored_chances(
    time: float, share: float, drift: float, below: float, above: float
) -> None:
    level = -below + share * (above + below)
    chance = chance_beyond(time, level, drift, -below, above)
    assert 0 <= chance <= 1
    mirrored = chance_beyond(time, -level, -drift, -above, below)
    assert chance == pytest.approx(1 - mirrored, abs=1e-9)


@given(TIMES, SHARES, DRIFTS, BARRIERS, BARRIERS)
def test_chances_grow_with_the_drift_and_fall_with_the_level(
    time: float, share: float, drift: float, below: float, above: float
) -> None:
    assume(abs(drift) < 1.9)
    level = -below + share * (above + below)
    chance = chance_beyond(time, level, drift, -below, above)
    assert chance_beyond(time, level, drift + 0.01, -below, above) >= chance - 1e-9
    assert chance_beyond(time, (level + above) / 2, drift, -below, above) <= chance + 1e-9


@given(DRIFTS, BARRIERS, BARRIERS)
def test_in_the_end_a_motion_leaves_somewhere(drift: float, below: float, above: float) -> None:
    chance = chance_beyond(1e7, above, drift, -below, above)
    assert chance == pytest.approx(chance_beyond(1e7, -below, drift, -below, above), abs=1e-9)
    # The martingale exp(-2 drift x) has the mean 1 at the end.
    if abs(drift) * max(below, above) < 8 and abs(drift) > 1e-3:
        mean = chance * math.exp(-2 * drift * above) + (1 - chance) * math.exp(2 * drift * below)
        assert mean == pytest.approx(1, rel=1e-6)

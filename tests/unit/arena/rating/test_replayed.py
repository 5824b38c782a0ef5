from __future__ import annotations

import math
from statistics import fmean, pstdev, pvariance, variance
from typing import TYPE_CHECKING

import numpy as np
import pytest

from arena.rating.beta import student_quantile, student_share
from arena.rating.replayed import correct

if TYPE_CHECKING:
    from arena.rating.sums import FloatArray

FITTED = np.array([300.0, 100.0, -50.0, -350.0])
FALSE = np.array(
    [[1.0, -1.0, 1.0, -1.0], [-1.0, 1.0, -1.0, 1.0], [1.0, 1.0, -1.0, -1.0], [-1.0, -1.0, 1.0, 1.0]]
)
"""Errors of successive replays; over four of them they cancel."""


def _stretched(strength: FloatArray, number: int) -> FloatArray:
    """Return the fit of a tournament that makes its field look 1.25 times as wide, up to 20 Elo."""
    return 1.25 * strength + 20 * FALSE[number % 4]


def aways(fits: list[list[float]], slope: float, model: list[float]) -> list[list[float]]:
    """Return the errors of replays, each corrected by its own slope, computed number by number."""
    noise = fmean(variance([fit[bot] / slope for fit in fits]) for bot in range(len(model)))
    found: list[list[float]] = []
    for fit in fits:
        own = slope
        for _ in range(2):
            spread = pvariance([elo / own for elo in fit])
            width = math.sqrt(max(spread / 10, spread - noise))
            own = slope * (pstdev(model) / width) ** (math.log(max(slope, 1)) + 0.1)
            own = min(2.0, max(0.5, own))
        found.append([elo / own - true for elo, true in zip(fit, model, strict=True)])
    return found


def test_ratings_are_divided_by_the_slope() -> None:
    models: list[FloatArray] = []

    def replay(strength: FloatArray, number: int) -> FloatArray:
        models.append(strength)
        return _stretched(strength, number)

    found = correct(FITTED, replay, 40)
    assert found.slope == pytest.approx(1.25)
    assert found.strength == pytest.approx(FITTED / 1.25)
    assert found.away.shape == (40, 4)
    fits = [_stretched(models[-1], number).tolist() for number in range(40)]
    twin = np.array(aways(fits, 1.25, models[-1].tolist()))
    assert found.away == pytest.approx(twin)
    assert found.error == pytest.approx(student_quantile(40, 0.975) * np.sqrt((twin**2).mean(axis=0)))


@pytest.mark.parametrize(("times", "noise"), [(0.8, 30.0), (1.1, 400.0), (1.6, 150.0), (3.0, 10.0)])
def test_each_replay_is_corrected_by_a_slope_of_its_own(times: float, noise: float) -> None:
    rng = np.random.default_rng(4)
    seen: list[tuple[FloatArray, FloatArray]] = []

    def replay(strength: FloatArray, number: int) -> FloatArray:
        fitted = times * rng.uniform(0.3, 1.7) * strength + rng.normal(0, noise, 4)
        seen.append((strength, fitted - fitted.mean()))
        return seen[number][1]

    found = correct(FITTED, replay, 20)
    fits = [fit.tolist() for _, fit in seen[20:]]
    assert found.away == pytest.approx(np.array(aways(fits, found.slope, seen[-1][0].tolist())))


def test_a_replay_may_end_in_equal_ratings() -> None:
    found = correct(FITTED, lambda strength, number: strength * (number % 4 > 0), 8)
    assert np.isfinite(found.away).all()
    # Equal ratings divided by any slope are equal, so the error is the whole model.
    widths = np.ptp(found.away, axis=1).round(6)
    assert np.flatnonzero(widths == widths.max()).tolist() == [0, 4]


def test_intervals_allow_for_the_error_of_the_correction_itself() -> None:
    """Tournaments of known bots whose fits are wider in proportion, the narrower the field is."""
    rng = np.random.default_rng(8)
    num_events, held, fixed = 300, 0, 0
    for _ in range(num_events):

        def play(strength: FloatArray, _number: int = 0) -> FloatArray:
            slope = 1.3 * (float(strength.std()) / 250) ** -0.35
            fitted = slope * rng.lognormal(0, 0.12) * strength + rng.normal(0, 20, len(strength))
            return fitted - fitted.mean()

        truth = rng.normal(0, 250, 16)
        truth -= truth.mean()
        found = correct(play(truth), play, 40)
        best, worst = int(np.argmax(truth)), int(np.argmin(truth))
        gap = found.gap(best, worst)
        held += gap.low <= truth[best] - truth[worst] <= gap.high
        # Without a slope for each replay, the errors include only that of the fit.
        narrow = student_quantile(40, 0.975) * math.hypot(0.12 * gap.elo, 20 / 1.3 * math.sqrt(2))
        fixed += abs(gap.elo - truth[best] + truth[worst]) <= narrow
    assert held / num_events == pytest.approx(0.95, abs=0.03)
    assert fixed / num_events < 0.88


def test_the_second_step_begins_where_the_first_one_ended() -> None:
    """A wide field is widened more than a narrow one; replays of the uncorrected fit alone would give 1.5."""

    def replay(strength: FloatArray, number: int) -> FloatArray:
        assert 0 <= number < 20
        return strength * (1 + strength[0] / 600)

    found = correct(FITTED, replay, 10)
    # The first step: 300 looks like 450, slope 1.5, so 200; the second: 200 looks like 267, slope 4/3.
    assert found.slope == pytest.approx(4 / 3)
    assert found.strength[0] == pytest.approx(225)


@pytest.mark.parametrize("noise", [0.0, 100.0, 2000.0])
def test_the_second_model_has_the_spread_of_the_truth(noise: float) -> None:
    seen: list[FloatArray] = []

    def replay(strength: FloatArray, number: int) -> FloatArray:
        seen.append(strength)
        return 1.25 * (strength + noise * FALSE[number % 4])

    found = correct(FITTED, replay, 8)
    # The variance of errors over eight replays is 8/7 of their mean square; a tenth is true in any case. All
    # bots have the same error here, so all are shrunk by the same factor.
    share = max(0.1, 1 - noise**2 * 8 / 7 / float(np.var(FITTED / 1.25))) ** 0.5
    assert seen[7] == pytest.approx(FITTED)
    assert seen[8] == pytest.approx(FITTED / 1.25 * share)
    assert found.strength == pytest.approx(FITTED / 1.25)


def test_replays_have_numbers_of_their_own() -> None:
    seen: list[int] = []

    def replay(strength: FloatArray, number: int) -> FloatArray:
        seen.append(number)
        return strength

    correct(FITTED, replay, 7)
    assert seen == list(range(14))


def test_gaps_allow_for_errors_that_two_bots_share() -> None:
    # A slope of 1 and errors that do not change the width: all replays have nearly that slope.
    found = correct(FITTED, lambda strength, number: strength + 16 * FALSE[number % 4], 40)
    for i, j, expected in ((0, 2, 16 * np.sqrt(2)), (0, 3, 32.0), (0, 1, 16 * np.sqrt(2))):
        gap = found.gap(i, j)
        assert gap.elo == pytest.approx(FITTED[i] - FITTED[j])
        away = found.away[:, i] - found.away[:, j]
        deviation = float(np.sqrt((away**2).mean()))
        assert deviation == pytest.approx(expected, rel=0.15)
        assert gap.error == pytest.approx(student_quantile(40, 0.975) * deviation)
        assert (gap.low, gap.high) == pytest.approx((gap.elo - gap.error, gap.elo + gap.error))
        assert gap.los == pytest.approx(student_share(40, gap.elo / deviation))
    assert found.gap(0, 1, 0.3).error < found.gap(0, 1).error


def test_what_the_slope_leaves_of_the_bias_is_error() -> None:
    """One bot always looks 40 Elo too strong, another 40 too weak."""
    shift = np.array([0.0, 40.0, 0.0, -40.0])
    shift -= FITTED * float(shift @ FITTED) / float(FITTED @ FITTED)
    found = correct(FITTED, lambda strength, _: strength + shift, 10)
    assert found.slope == pytest.approx(1)
    twin = np.array(aways([(FITTED + shift).tolist()] * 2, 1.0, FITTED.tolist()))
    assert found.error == pytest.approx(student_quantile(10, 0.975) * np.abs(twin[0]))
    assert np.abs(twin[0]) == pytest.approx(np.abs(shift), abs=2)


@pytest.mark.parametrize(("times", "slope"), [(9.0, 2.0), (0.1, 0.5), (1.9, 1.9)])
def test_a_slope_has_bounds(times: float, slope: float) -> None:
    assert correct(FITTED, lambda strength, _: times * strength, 4).slope == pytest.approx(slope)


def test_a_field_of_equals_stays_as_it_is() -> None:
    found = correct(np.zeros(3), lambda strength, _: strength, 4)
    assert found.slope == 1
    assert not found.strength.any()
    assert found.gap(0, 1).los == 0.5


def test_bots_with_wide_errors_are_drawn_together_most() -> None:
    seen: list[FloatArray] = []
    spread = np.array([3.0, 1.0, 1.0, 1.0])

    def replay(strength: FloatArray, number: int) -> FloatArray:
        seen.append(strength)
        return strength + 50 * spread * FALSE[number % 4]

    correct(FITTED, replay, 8)
    errors = [50**2 * 8 / 7 * each**2 for each in spread.tolist()]
    variance = sum(each**2 for each in FITTED.tolist()) / 4
    true = variance - sum(errors) / 4
    means = [each * true / (true + error) for each, error in zip(FITTED.tolist(), errors, strict=True)]
    middle = sum(means) / 4
    square = sum((each - middle) ** 2 for each in means) / 4
    expected = [(each - middle) * (true / square) ** 0.5 for each in means]
    assert seen[8].tolist() == pytest.approx(expected)
    # The first bot is 200 Elo above the second by its fit, and less in the model.
    assert seen[8][0] - seen[8][1] < 150


def test_bots_of_equal_rating_stay_equal() -> None:
    found = correct(np.zeros(4), _stretched, 4)
    assert found.strength.tolist() == [0.0] * 4

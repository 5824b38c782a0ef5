from __future__ import annotations

from typing import TYPE_CHECKING

import choix
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.errors import ConfigError
from arena.rating import dense, few
from arena.rating.dense import maximise
from arena.rating.fit import fit
from arena.rating.likelihood import FloatArray, Posterior, arrays_of
from arena.rating.model import LOGITS_PER_ELO, PairResult, Prior, count

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.rating.ratings import Ratings

    Simulate = Callable[[FloatArray, int, int], list[PairResult]]

BRADLEY_TERRY = Prior(games=1e-6, advantage_sd=1e-5, log_draw_mean=-40, log_draw_sd=1e-5)


def test_without_draws_advantage_and_prior_it_is_bradley_terry() -> None:
    rng = np.random.default_rng(11)
    wins = rng.integers(1, 40, (8, 8)) * (1 - np.eye(8, dtype=np.int64))
    oracle = choix.ilsr_pairwise_dense(wins.astype(np.float64), tol=1e-13, max_iter=1000)
    results = [PairResult(i, j, float(wins[i, j]), 0, 0) for i in range(8) for j in range(8) if i != j]
    ratings = fit(results, 8, prior=BRADLEY_TERRY)
    assert np.array(ratings.elo) - 1500 == pytest.approx((oracle - oracle.mean()) / LOGITS_PER_ELO, abs=0.01)


@pytest.mark.parametrize("first_wins", [True, False])
def test_bradley_terry_does_not_ask_who_moved_first(first_wins: bool) -> None:  # noqa: FBT001 (a parameter)
    data = [(0, 1)] * 5 + [(1, 0)] * 2 + [(1, 2)] * 7 + [(2, 1)] * 4 + [(2, 0)] * 3 + [(0, 2)] * 6
    oracle = choix.opt_pairwise(3, data, alpha=1e-9, tol=1e-12)
    results = [PairResult(w, v, 1, 0, 0) if first_wins else PairResult(v, w, 0, 0, 1) for w, v in data]
    ratings = fit(results, 3, prior=BRADLEY_TERRY)
    assert np.array(ratings.elo) - 1500 == pytest.approx((oracle - oracle.mean()) / LOGITS_PER_ELO, abs=0.01)


def test_many_matches_give_the_parameters_back(simulate: Simulate) -> None:
    strength = np.array([-300.0, -100.0, 0.0, 150.0, 250.0])
    ratings = fit(simulate(strength, 200_000, 1), 5)
    assert np.array(ratings.elo) - 1500 == pytest.approx(strength, abs=2)
    assert ratings.advantage == pytest.approx(40, abs=1)
    assert ratings.draw == pytest.approx(np.exp(-1), abs=0.01)


def test_the_gradient_vanishes_at_the_fit(simulate: Simulate) -> None:
    posterior = Posterior(arrays_of(count(simulate(np.linspace(-400, 400, 6), 30, 2), 6)), 6, Prior())
    point = maximise(posterior)
    assert np.abs(posterior.derivatives(point)[0]).max() < 1e-9
    assert maximise(posterior, point) == pytest.approx(point, abs=1e-9)


def test_the_prior_is_a_virtual_win_and_loss_against_the_origin() -> None:
    # Bots at +x and -x after one win: it pulls with sigmoid(-2x), the virtual matches with tanh(x / 2).
    results = [PairResult(0, 1, 0.5, 0, 0), PairResult(1, 0, 0, 0, 0.5)]
    x = fit(results, 2, prior=Prior(log_draw_mean=-40, log_draw_sd=1e-6)).strength[0] * LOGITS_PER_ELO
    assert np.tanh(x / 2) == pytest.approx(1 / (1 + np.exp(2 * x)), abs=1e-9)


def _equal(one: Ratings, two: Ratings) -> None:
    for name in ("elo", "error", "strength", "covariance", "table", "strong", "num_matches"):
        found, expected = np.array(getattr(one, name)), np.array(getattr(two, name))
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-6), name
    assert one.advantage == pytest.approx(two.advantage, abs=1e-6)
    assert one.log_draw_error == pytest.approx(two.log_draw_error, abs=1e-6)


def test_neither_order_nor_splitting_of_results_matters(simulate: Simulate) -> None:
    results = simulate(np.linspace(-200, 200, 5), 10, 3)
    halves = [PairResult(r.first, r.second, r.wins / 2, r.draws / 2, r.losses / 2) for r in results]
    _equal(fit(results, 5), fit(halves[::-1] + halves, 5))


def test_a_permutation_of_bots_permutes_the_ratings(simulate: Simulate) -> None:
    results, order = simulate(np.linspace(-200, 200, 5), 10, 4), np.array([3, 0, 4, 1, 2])
    moved = [
        PairResult(int(order[r.first]), int(order[r.second]), r.wins, r.draws, r.losses) for r in results
    ]
    one, two = fit(results, 5), fit(moved, 5)
    assert np.array(two.elo)[order] == pytest.approx(one.elo)
    assert np.array(two.error)[order] == pytest.approx(one.error)


def test_an_anchor_shifts_its_table_and_leaves_gaps(simulate: Simulate) -> None:
    results = simulate(np.linspace(-200, 200, 4), 10, 5)
    plain, anchored = fit(results, 5), fit(results, 5, anchor=(2, 1200.0))
    assert (anchored.elo[2], anchored.error[2]) == (1200.0, 0.0)
    assert np.diff(anchored.elo[:4]) == pytest.approx(np.diff(plain.elo[:4]))
    assert anchored.error[0] == pytest.approx(plain.gap(0, 2).error)
    assert (anchored.elo[4], anchored.error[4]) == pytest.approx((plain.elo[4], plain.error[4]))
    assert fit(results, 5, anchor=(2, 1300.0)).elo[:4] == pytest.approx(
        [elo + 100 for elo in anchored.elo[:4]]
    )


def test_the_mean_of_each_table_is_1500(simulate: Simulate) -> None:
    one = simulate(np.linspace(-200, 300, 4), 10, 6)
    other = [PairResult(r.first + 4, r.second + 4, r.wins, r.draws, r.losses) for r in one]
    ratings = fit(one + other, 9)
    assert ratings.table == (0, 0, 0, 0, 1, 1, 1, 1, 2)
    assert np.mean(ratings.elo[:4]) == pytest.approx(1500)
    assert ratings.elo[4:8] == pytest.approx(ratings.elo[:4])
    assert ratings.elo[8] == 1500
    assert ratings.error[8] == pytest.approx(1.96 * 2**0.5 / LOGITS_PER_ELO, rel=1e-4)


def test_names_are_kept_and_made_up_for_a_number() -> None:
    assert fit([], ["a", "b"]).names == ("a", "b")
    assert fit([], 2).names == ("0", "1")
    assert fit([], []).elo == ()


@pytest.mark.parametrize("bot", [-1, 2])
def test_the_anchor_must_be_a_bot(bot: int) -> None:
    with pytest.raises(ConfigError, match="anchor"):
        fit([], 2, anchor=(bot, 1200.0))


amount = st.one_of(st.just(0.0), st.floats(0, 1e7), st.integers(0, 3))
seats = st.tuples(st.integers(0, 4), st.integers(0, 4)).filter(lambda pair: pair[0] != pair[1])


@given(st.lists(st.tuples(seats, amount, amount, amount), max_size=8))
def test_every_figure_is_always_finite(rows: list[tuple[tuple[int, int], float, float, float]]) -> None:
    ratings = fit([PairResult(*pair, *counts) for pair, *counts in rows], 5)
    for name in ("elo", "error", "covariance", "num_matches"):
        assert np.isfinite(getattr(ratings, name)).all()
    assert min(ratings.error) > 0
    assert np.isfinite([ratings.advantage_error, ratings.log_draw_error, ratings.draw]).all()


@pytest.mark.parametrize("wins", [1.0, 100.0, 1e6, 1e9, 1e12])
def test_wins_only_and_draws_only_are_finite(wins: float) -> None:
    ratings = fit([PairResult(0, 1, wins, 0, 0), PairResult(1, 2, 0, wins, 0)], 3)
    assert np.isfinite(ratings.elo).all()
    assert ratings.elo[0] > ratings.elo[1]
    assert np.isfinite(ratings.error).all()


@pytest.mark.parametrize("num_bots", [2, 5, 17])
def test_plain_numbers_and_arrays_find_the_same_maximum(simulate: Simulate, num_bots: int) -> None:
    rows = count(simulate(np.linspace(-500, 300, num_bots), 7, num_bots), num_bots)
    plain, arrays = few.maximum(rows, num_bots, Prior()), dense.maximum(rows, num_bots, Prior())
    assert plain.point == pytest.approx(arrays.point, abs=1e-7)
    assert np.array(plain.covariance) == pytest.approx(np.array(arrays.covariance), rel=1e-6, abs=1e-8)


@given(st.lists(st.tuples(seats, amount, amount, amount), max_size=8))
def test_they_do_so_for_whatever_results(rows: list[tuple[tuple[int, int], float, float, float]]) -> None:
    counted = count([PairResult(*pair, *counts) for pair, *counts in rows], 5)
    plain, arrays = few.maximum(counted, 5, Prior()), dense.maximum(counted, 5, Prior())
    errors = np.sqrt(np.diag(np.array(arrays.covariance)))
    assert np.abs(np.array(plain.point) - np.array(arrays.point)).max() < 1e-3 * errors.max()
    assert np.sqrt(np.diag(np.array(plain.covariance))) == pytest.approx(errors, rel=1e-3)


def test_a_field_is_rated_alike_on_either_side_of_the_bound(simulate: Simulate) -> None:
    results = simulate(np.linspace(-300, 300, 24), 20, 7)
    few_bots, many = fit(results, 24), fit(results, 25)
    assert many.elo[:24] == pytest.approx(few_bots.elo, abs=1e-6)
    assert many.error[:24] == pytest.approx(few_bots.error, abs=1e-6)

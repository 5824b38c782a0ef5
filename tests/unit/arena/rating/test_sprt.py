from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize  # pyright: ignore[reportMissingTypeStubs]  # scipy has no stubs

from arena.errors import ConfigError
from arena.rating.pairs import NELO_PER_SIGMA, expected_score
from arena.rating.sprt import EloModel, bounds, decide, log_likelihood_ratio, log_likelihood_ratios

if TYPE_CHECKING:
    from arena.rating.sums import FloatArray

MODELS: tuple[EloModel, ...] = ("logistic", "normalized")


@pytest.mark.parametrize(
    ("cells", "elo0", "elo1", "ratio"),
    [
        ((39, 8843, 26675, 9240, 44), 0.5, 2.5, 2.9417),
        ((50, 287, 610, 387, 73), 0, 5, 2.9659),
        ((1, 2, 10, 4, 3), 0, 5, 0.1116),
        ((0, 0, 100, 0, 0), 0, 5, -0.0375),
    ],
)
def test_normalized_ratios_of_the_fixtures(
    cells: tuple[int, ...], elo0: float, elo1: float, ratio: float
) -> None:
    assert log_likelihood_ratio(cells, elo0, elo1, model="normalized") == pytest.approx(ratio, abs=5e-5)


def _most_likely(cells: FloatArray, elo: float, model: str) -> float:
    """Return the log likelihood per trial, computed by a general solver."""
    observed, scores = cells / cells.sum(), np.linspace(0, 1, len(cells))

    def miss(law: FloatArray) -> float:
        mean = float(law @ scores)
        if model == "logistic":
            return mean - expected_score(elo)
        target = elo * math.sqrt(2 if len(cells) == 5 else 1) / NELO_PER_SIGMA
        return mean - 0.5 - target * math.sqrt(float(law @ (scores - mean) ** 2))

    def sum_to_one(law: FloatArray) -> float:
        return float(law.sum()) - 1

    def cost(law: FloatArray) -> float:
        return -float(observed @ np.log(law))

    solve = cast("Any", optimize.minimize)  # pyright: ignore[reportUnknownMemberType]  # scipy has no stubs
    found = solve(
        cost,
        observed,
        method="SLSQP",
        bounds=[(1e-9, 1)] * len(cells),
        constraints=[{"type": "eq", "fun": miss}, {"type": "eq", "fun": sum_to_one}],
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return -float(found.fun)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("counts", [(50, 287, 610, 387, 73), (40, 30, 60)])
def test_ratio_against_a_general_solver(counts: tuple[int, ...], model: EloModel) -> None:
    cells = np.array(counts, dtype=np.float64)
    oracle = cells.sum() * (_most_likely(cells, 30, model) - _most_likely(cells, -10, model))
    assert log_likelihood_ratio(counts, -10, 30, model=model) == pytest.approx(oracle, abs=1e-3)


@settings(deadline=None)
@given(
    st.one_of(
        st.lists(st.integers(0, 10**6), min_size=5, max_size=5),
        st.lists(st.integers(0, 20), min_size=3, max_size=3),
    ),
    st.floats(-1500, 1500),
    st.floats(-1500, 1500),
    st.sampled_from(MODELS),
)
def test_the_ratio_is_finite_and_changes_sign_with_the_hypotheses(
    cells: list[int], elo0: float, elo1: float, model: EloModel
) -> None:
    ratio = log_likelihood_ratio(cells, elo0, elo1, model=model)
    assert math.isfinite(ratio)
    assert log_likelihood_ratio(cells, elo1, elo0, model=model) == pytest.approx(-ratio, abs=1e-9)
    mirrored = log_likelihood_ratio(cells[::-1], -elo0, -elo1, model=model)
    assert mirrored == pytest.approx(ratio, rel=1e-4, abs=1e-4)


def test_the_observed_law_is_likeliest_at_its_own_elo() -> None:
    cells = (1, 2, 10, 4, 3)
    assert log_likelihood_ratio(cells, 52.51, 0) < 0 < log_likelihood_ratio(cells, 0, 52.51)
    assert log_likelihood_ratio(cells, 52.51, 200) < 0


def test_extreme_hypotheses_end() -> None:
    for model in MODELS:
        assert log_likelihood_ratio((0, 0, 0, 0, 7), -1500, 1500, model=model) > 30


def test_bounds_and_decisions() -> None:
    assert bounds() == pytest.approx((-2.9444, 2.9444), abs=5e-5)
    assert bounds(0.1, 0.2) == pytest.approx((math.log(0.2 / 0.9), math.log(8)))
    assert [decide(ratio) for ratio in (-3, -2.9, 0, 2.9, 3)] == ["H0", None, None, None, "H1"]
    # Wald's test also ends at its bounds, not only beyond them.
    assert [decide(bound) for bound in bounds()] == ["H0", "H1"]


@pytest.mark.parametrize(("alpha", "beta"), [(0, 0.05), (0.05, 0), (0.5, 0.5), (math.nan, 0.1)])
def test_error_rates_must_be_small(alpha: float, beta: float) -> None:
    with pytest.raises(ConfigError, match="alpha"):
        bounds(alpha, beta)


def test_cells_must_be_three_or_five() -> None:
    with pytest.raises(ConfigError, match="three or five"):
        log_likelihood_ratio((1, 2))


def _fishtest() -> list[tuple[EloModel, float, float, list[int], float]]:
    found: list[tuple[EloModel, float, float, list[int], float]] = []
    for line in Path(__file__).with_name("fishtest-ratios.txt").read_text(encoding="ascii").splitlines():
        if not line.startswith("#"):
            sample, ratio = line.split(":")
            model, elo0, elo1, *cells = sample.split()
            known = MODELS[MODELS.index(cast("EloModel", model))]
            found.append((known, float(elo0), float(elo1), [int(cell) for cell in cells], float(ratio)))
    return found


def test_ratios_are_those_of_fishtest() -> None:
    samples = _fishtest()
    assert len(samples) == 288
    for model, elo0, elo1, cells, ratio in samples:
        assert log_likelihood_ratio(cells, elo0, elo1, model=model) == pytest.approx(
            ratio, rel=1e-9, abs=1e-9
        )


@pytest.mark.parametrize("model", MODELS)
def test_a_sample_does_not_depend_on_its_company(model: EloModel) -> None:
    known = [cells for _, _, _, cells, _ in _fishtest() if len(cells) == 5]
    samples = [*known[:100], [0, 0, 0, 0, 4]]
    together = log_likelihood_ratios(np.array(samples, dtype=np.float64), 0, 30, model=model)
    alone = [log_likelihood_ratio(cells, 0, 30, model=model) for cells in samples]
    assert together.tolist() == pytest.approx(alone, rel=1e-12, abs=1e-12)

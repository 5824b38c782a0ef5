"""Quantiles compared with SciPy's, over all magnitudes that occur in statistics."""

from __future__ import annotations

import math
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special  # pyright: ignore[reportMissingTypeStubs]  # scipy has no stubs

from arena.rating.beta import beta_log_odds, student_quantile, student_share

SPECIAL = cast("Any", special)
SIZES = st.floats(-1.0, 7.9).map(lambda exponent: 10**exponent)


@settings(max_examples=300, deadline=None)
@given(a=SIZES, b=SIZES, p=st.sampled_from([0.025, 0.16, 0.5, 0.84, 0.975]))
def test_below_a_quantile_of_beta_lies_its_share(a: float, b: float, p: float) -> None:
    # SciPy's own quantiles are wrong by up to 1e-4 if one parameter is 10,000 times the other.
    odds = beta_log_odds(a, b, p)
    low, high = float(SPECIAL.expit(odds)), float(SPECIAL.expit(-odds))
    if min(low, high) > 1e-300:
        # Computed from the small tail, because near 1 the complement would be rounded away.
        share = SPECIAL.betainc(a, b, low) if odds < 0 else 1 - SPECIAL.betainc(b, a, high)
        assert float(share) == pytest.approx(p, abs=1e-6)


@pytest.mark.parametrize("degrees", [1, 2, 3.5, 10, 100, 10_000, 10_000_000])
def test_quantiles_of_student_are_those_of_scipy(degrees: float) -> None:
    for p in (0.6, 0.9, 0.975, 0.9995):
        assert student_quantile(degrees, p) == pytest.approx(float(SPECIAL.stdtrit(degrees, p)), rel=1e-7)


@pytest.mark.parametrize("degrees", [1, 2, 3.5, 10, 100, 10_000])
def test_shares_of_student_are_those_of_scipy(degrees: float) -> None:
    for t in (-40.0, -2.5, -0.1, 0.0, 0.3, 1.96, 8.0):
        assert student_share(degrees, t) == pytest.approx(float(SPECIAL.stdtr(degrees, t)), rel=1e-7)


def test_sides_mirror_each_other() -> None:
    assert beta_log_odds(3.0, 7.0, 0.025) == pytest.approx(-beta_log_odds(7.0, 3.0, 0.975))
    assert beta_log_odds(5.0, 5.0, 0.5) == pytest.approx(0.0, abs=1e-12)


def test_the_smallest_parameters_have_ends_as_well() -> None:
    assert beta_log_odds(0.001, 0.5, 0.025) == pytest.approx(math.log(0.025) / 0.001, rel=0.01)

"""A small part of `make simulate`: intervals contain the true value in difficult designs."""

from __future__ import annotations

import numpy as np
import pytest

from rating_designs import BY_NAME
from rating_worlds import measure


@pytest.mark.parametrize(
    "name",
    [
        "round robin of 8, SD 150",
        "chain of 20, +40, 50 pairs",
        "two groups of 10, 400 apart, bridge 50",
        "gauntlet, 1 against 15, 20 pairs",
        "sweeper, +900",
        "deterministic, 25 openings, replayed 4x",
    ],
)
def test_intervals_hold_the_truth_in_nine_of_ten_fields(name: str) -> None:
    found = measure(BY_NAME[name], 100, 1)
    assert np.mean(found.printed) >= 0.9
    assert np.mean(found.plain) >= 0.9
    assert 0.9 <= np.mean(found.ratings) <= 0.99

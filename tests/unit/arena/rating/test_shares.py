from __future__ import annotations

import pytest

from arena.rating.shares import wilson


def test_intervals_are_wilsons() -> None:
    assert wilson(0, 0) == (0.0, 100.0)
    assert wilson(50, 100) == pytest.approx((40.38, 59.62), abs=0.01)
    assert wilson(0, 1000)[1] == pytest.approx(0.38, abs=0.01)

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from arena.rating.brownian import chance_beyond

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
    # The martingale e to the minus 2 drift x: its mean at the end is 1.
    if abs(drift) * max(below, above) < 8 and abs(drift) > 1e-3:
        mean = chance * math.exp(-2 * drift * above) + (1 - chance) * math.exp(2 * drift * below)
        assert mean == pytest.approx(1, rel=1e-6)

"""Tables whose ratings are relative to bots of known strength."""

from __future__ import annotations

import math

import numpy as np
import pytest

from arena.rating.fit import fit
from arena.rating.sums import MatchArrays, encounters
from rated import pairs, rate

CHAIN = pairs(0, 1, [(1, 0.5)] * 6 + [(0, 0.5)] * 4) + pairs(1, 2, [(0.5, 0.5)] * 8 + [(1, 0)] * 2)


def test_an_anchor_shifts_its_table_and_leaves_gaps() -> None:
    plain, anchored = rate(CHAIN, 4), rate(CHAIN, 4, anchor=(2, 1200.0))
    assert (anchored.elo[2], anchored.error[2]) == (1200.0, 0.0)
    assert np.diff(anchored.elo[:3]) == pytest.approx(np.diff(plain.elo[:3]))
    assert anchored.error[0] == pytest.approx(plain.gap(0, 2).error)
    assert anchored.elo[3] == 1500
    assert anchored.error[3] == math.inf


def test_each_table_hangs_on_its_first_anchor() -> None:
    matches = encounters(MatchArrays(CHAIN + pairs(3, 4, [(1, 0.5), (0, 0.5), (0.5, 0.5)])))
    found = fit(matches, 6, anchors=[(1, 1000.0), (2, 3000.0), (4, 700.0)])
    assert (found.elo[1], found.elo[4], found.elo[5]) == (1000.0, 700.0, 1500.0)
    first, other = (fit(matches, 6, anchors=[anchor]) for anchor in ((1, 1000.0), (4, 700.0)))
    assert found.elo[:3] == first.elo[:3]
    assert found.error[:3] == first.error[:3]
    assert found.elo[3:5] == other.elo[3:5]
    assert found.error[3:5] == other.error[3:5]

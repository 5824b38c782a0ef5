from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.schedules.ranking import strengths
from arena.schedules.seat_counts import FoldSums


def _sums(rows: list[tuple[int, int, float, float]]) -> FoldSums:
    low, high, matches, points = np.array(rows, dtype=np.float64).reshape(-1, 4).T
    return FoldSums(low.astype(np.int64), high.astype(np.int64), matches, points)


def _log_posterior(elo: list[float], rows: list[tuple[int, int, float, float]]) -> float:
    """Add up the textbook's formula, match by match."""
    value = -sum(each**2 for each in elo) / (2 * 400**2)
    for low, high, matches, points in rows:
        chance = 1 / (1 + 10 ** ((elo[high] - elo[low]) / 400))
        value += points * math.log(chance) + (matches - points) * math.log(1 - chance)
    return value


@settings(max_examples=25, deadline=None)
@given(
    st.dictionaries(
        st.tuples(st.integers(0, 4), st.integers(5, 7)),
        st.integers(1, 6).flatmap(lambda num: st.tuples(st.just(num), st.integers(0, 2 * num))),
        max_size=9,
    )
)
def test_strengths_are_the_mode_of_the_posterior(results: dict[tuple[int, int], tuple[int, int]]) -> None:
    rows = [(low, high, float(num), half / 2) for (low, high), (num, half) in results.items()]
    known = strengths(_sums(rows))
    found = [known.get(seat, 0.0) for seat in range(8)]
    best = _log_posterior(found, rows)
    # The posterior is concave, so a point that no step along a seat improves is its mode.
    for seat in range(8):
        for step in (-0.05, 0.05):
            moved = [elo + step * (place == seat) for place, elo in enumerate(found)]
            assert _log_posterior(moved, rows) < best


def test_wins_without_end_have_an_end() -> None:
    found = strengths(_sums([(0, 1, 1e6, 1e6), (1, 2, 1e6, 1e6), (2, 3, 1.0, 0.0)]))
    assert found[0] > found[1] > found[2]
    assert found[3] > found[2]
    assert max(map(abs, found.values())) < 4000


def test_seats_without_results_have_none() -> None:
    assert strengths(_sums([])) == {}

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.rating.model import PairResult
from arena.rating.weights import OutcomeCount, weigh


def test_repeated_matches_share_the_weight_of_the_unique_ones() -> None:
    rows = [
        OutcomeCount(first=0, second=1, score=1, num_matches=50, num_unique=1),
        OutcomeCount(first=1, second=0, score=0.5, num_matches=50, num_unique=1),
        OutcomeCount(first=0, second=2, score=0, num_matches=3, num_unique=3),
        OutcomeCount(first=0, second=2, score=1, num_matches=0, num_unique=0),
    ]
    assert weigh(rows) == [PairResult(0, 1, 1, 0, 0), PairResult(1, 0, 0, 1, 0), PairResult(0, 2, 0, 0, 3)]


def test_encounters_of_two_tournaments_are_weighed_on_their_own() -> None:
    rows = [
        OutcomeCount(first=0, second=1, score=1, num_matches=10, num_unique=1, tournament=1),
        OutcomeCount(first=0, second=1, score=1, num_matches=10, num_unique=10, tournament=2),
    ]
    assert [result.weight for result in weigh(rows)] == [1, 10]


@given(st.lists(st.tuples(st.sampled_from([0, 0.5, 1]), st.integers(1, 99), st.integers(1, 99)), min_size=1))
def test_weights_add_up_to_the_unique_matches(outcomes: list[tuple[float, int, int]]) -> None:
    rows = [
        OutcomeCount(first=0, second=1, score=score, num_matches=max(pair), num_unique=min(pair))
        for score, *pair in outcomes
    ]
    assert sum(result.weight for result in weigh(rows)) == pytest.approx(sum(row.num_unique for row in rows))

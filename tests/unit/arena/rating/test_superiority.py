"""Likelihood of superiority and the first player's advantage, against their definitions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from arena.rating.model import LOGITS_PER_ELO
from rated import pairs, rate

if TYPE_CHECKING:
    from arena.rating.sums import RatedMatch


@pytest.mark.parametrize("more", [[], pairs(1, 2, [(1, 0), (0.5, 1), (0, 0.5)])], ids=["two", "a field"])
def test_the_level_whose_interval_ends_at_0_is_that_of_the_superiority(more: list[RatedMatch]) -> None:
    for num_won in (11, 13, 16):
        won = [(1.0, 0.5)] * num_won + [(0.0, 0.5)] * (20 - num_won)
        ratings = rate(pairs(0, 1, won) + more, 2 + bool(more))
        low, high = 1e-9, 1.0
        for _ in range(40):
            level = (low + high) / 2
            low, high = (level, high) if ratings.gap(0, 1, level).low < 0 else (low, level)
        assert ratings.gap(0, 1).los == pytest.approx(1 - low / 2, abs=1e-5)


def test_the_error_of_the_advantage_is_that_of_a_share() -> None:
    """With pairs of equal bots, the advantage is the log-odds of the first players' share plus four draws."""
    results = [(1.0, 0.0)] * 250 + [(0.0, 1.0)] * 150
    ratings = rate(pairs(0, 1, results), 2)
    num, share = 804, (2 * 250 + 2) / 804
    assert ratings.advantage * LOGITS_PER_ELO == pytest.approx(math.log(share / (1 - share)))
    error = 1.96 / math.sqrt(num * share * (1 - share)) / LOGITS_PER_ELO
    assert ratings.advantage_error == pytest.approx(error, rel=0.01)

from __future__ import annotations

import pytest

from arena.rating.ticker import Ticker


def test_equal_bots_move_half_of_k() -> None:
    ticker = Ticker()
    ticker.update("a", "b", 1)
    assert (ticker.of("a"), ticker.of("b"), ticker.of("c")) == (1508, 1492, 1500)


def test_it_depends_on_order_and_keeps_the_sum() -> None:
    matches = [("a", "b", 1.0), ("b", "c", 1.0), ("c", "a", 0.5), ("a", "b", 0.0)]
    one, other = Ticker(), Ticker()
    for match in matches:
        one.update(*match)
    for match in reversed(matches):
        other.update(*match)
    assert one.elo != other.elo
    assert sum(one.elo.values()) == pytest.approx(4500)
    assert sum(other.elo.values()) == pytest.approx(4500)

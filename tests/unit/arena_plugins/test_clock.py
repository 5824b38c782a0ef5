"""The Limit of one answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena_plugins import Limit
from arena_plugins.clock import make_limit
from arena_plugins.wire import Clock, ClockSpec

DAY = 86_400_000


def limit(mode: str, remaining: int, *, inc: int = 0, moves: int | None = None, played: int = 0) -> float:
    tc = ClockSpec(mode, DAY if mode == "fischer" else 1000, 60_000, inc, 50, moves)
    seconds = make_limit(tc, Clock(remaining, 0), played).seconds
    assert seconds is not None
    return seconds


def test_a_limit_per_move() -> None:
    assert limit("move", 1000) == 1.0
    assert limit("move", 400) == 0.4
    tc = ClockSpec("move", 60_000, 0, 0, 50, nodes=800)
    assert make_limit(tc, Clock(60_000, 60_000), 0) == Limit(seconds=60.0, nodes=800)


def test_a_bank_stays_for_accidents() -> None:
    assert limit("bank", 60_000) == limit("bank", 0) == 1.0


def test_a_bank_is_told_where_there_is_one() -> None:
    tc = ClockSpec("bank", 2000, 60_000, 0, 50, nodes=9)
    assert make_limit(tc, Clock(1500, 0), 3) == Limit(seconds=2.0, nodes=9, bank=1.5)
    assert make_limit(tc, Clock(-5, 0), 3).bank == 0.0
    assert make_limit(ClockSpec("move", 2000, 0, 0, 50), Clock(1500, 0), 0).bank is None


@pytest.mark.parametrize(
    ("remaining", "inc", "moves", "played", "seconds"),
    [
        (60_000, 0, None, 0, 3.0),
        (60_000, 600, None, 0, 3.48),
        (60_000, 0, 40, 0, 3.0),
        (60_000, 0, 40, 30, 6.0),
        (60_000, 0, 40, 39, 59.95),
        (60_000, 0, 40, 40, 3.0),
        (400, 1000, None, 0, 0.35),
        (60, 1000, None, 0, 0.03),
        (0, 1000, None, 0, 0.0),
        (-5, 1000, None, 0, 0.0),
    ],
)
def test_a_share_of_a_fischer_clock(
    remaining: int, inc: int, moves: int | None, played: int, seconds: float
) -> None:
    assert limit("fischer", remaining, inc=inc, moves=moves, played=played) == pytest.approx(seconds)


@given(st.integers(0, DAY), st.integers(0, 100_000), st.none() | st.integers(1, 100), st.integers(0, 200))
def test_no_more_than_what_remains(remaining: int, inc: int, moves: int | None, played: int) -> None:
    assert 0 <= limit("fischer", remaining, inc=inc, moves=moves, played=played) <= remaining / 1000

"""The budget of one answer: from the limit, from the bot's own bounds, and from a bank of time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from arena_bots.search import budget
from arena_bots.search.budget import Budget
from arena_plugins.contract import Limit

if TYPE_CHECKING:
    from collections.abc import Callable

NOW = 1000.0


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Stop the clock at `NOW`; return a function that sets it."""
    times = [NOW]
    monkeypatch.setattr(budget, "perf_counter", lambda: times[0])

    def set_clock(time: float) -> None:
        times[0] = time

    return set_clock


@pytest.mark.parametrize(
    ("limit", "seconds", "allowed"),
    [
        (Limit(), None, math.inf),
        (Limit(seconds=2.0), None, 1.8),
        (Limit(seconds=2.0), 1.0, 1.0),
        (Limit(seconds=1.0), 5.0, 0.9),
        (Limit(), 5.0, 5.0),
        (Limit(seconds=2.0, bank=60.0), None, 3.96),
        (Limit(bank=60.0), None, 2.16),
        (Limit(seconds=2.0, bank=0.0), None, 1.8),
    ],
)
def test_the_tighter_time_counts(limit: Limit, seconds: float | None, allowed: float) -> None:
    assert Budget.of(limit, seconds=seconds).deadline == pytest.approx(NOW + allowed)


@pytest.mark.parametrize(
    ("limit", "nodes", "allowed"), [(None, None, math.inf), (5, None, 5), (5, 3, 3), (None, 7, 7), (2, 9, 2)]
)
def test_the_tighter_number_counts(limit: int | None, nodes: int | None, allowed: float) -> None:
    assert Budget.of(Limit(nodes=limit), nodes=nodes).nodes == allowed


def test_it_is_late_from_the_deadline_on(clock: Callable[[float], None]) -> None:
    some = Budget.of(Limit(seconds=2.0))
    for tenths in range(18):
        clock(NOW + tenths / 10)
        assert not some.is_late
    clock(NOW + 1.81)
    assert some.is_late


def test_it_is_late_where_another_wait_like_the_longest_would_take_too_long(
    clock: Callable[[float], None],
) -> None:
    some = Budget.of(Limit(seconds=0.1))
    for time in (0.001, 0.002, 0.032, 0.033):
        clock(NOW + time)
        assert not some.is_late
    # 30 ms passed between two checks: of 100 ms, as much again and as much for the answer must be left.
    clock(NOW + 0.0395)
    assert not some.is_late
    clock(NOW + 0.0405)
    assert some.is_late


def test_waits_do_not_matter_while_there_is_time(clock: Callable[[float], None]) -> None:
    own = Budget.of(Limit(), seconds=1.0)
    bounded = Budget.of(Limit(seconds=10.0))
    for some in (own, bounded):
        clock(NOW)
        assert not some.is_late
        clock(NOW + 0.95)
        assert not some.is_late

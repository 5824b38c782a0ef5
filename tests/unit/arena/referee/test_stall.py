from __future__ import annotations

import sys

import pytest

from arena.referee.stall import (
    delays_itself,
    is_stall,
    kept_by_others_s,
    most_given_back_s,
    near_s,
    suspended_s,
)


@pytest.mark.parametrize(
    ("kept_s", "asleep_s", "computed_s", "expected"),
    [
        (0.0, 0.0, 0.0, False),
        # Late in spite of what it was given back: up to 2 s, it loses.
        (1.999, 0.0, 0.0, False),
        (2.0, 0.0, 0.0, True),
        (2.0, 0.0, 1.0, True),
        (0.0, 0.01, 0.0, False),
        (0.0, 0.02, 0.0, True),
        (0.0, 0.02, 0.89, True),
        (0.0, 0.02, 0.9, False),
    ],
)
def test_who_is_at_fault(kept_s: float, asleep_s: float, computed_s: float, *, expected: bool) -> None:
    found = is_stall(window_s=1.0, kept_s=kept_s, most_s=2.0, asleep_s=asleep_s, computed_s=computed_s)
    assert found == expected


def test_where_nothing_is_given_back_nothing_is_a_stall() -> None:
    assert not is_stall(window_s=1.0, kept_s=0.0, most_s=0.0, asleep_s=0.0, computed_s=0.0)


@pytest.mark.parametrize(
    ("margin_s", "near", "most"), [(0.05, 0.1, 2.0), (0.2, 0.4, 8.0), (0.01, 0.05, 1.0), (0.0, 0.05, 1.0)]
)
def test_how_long_before_a_deadline_delays_are_given_back(margin_s: float, near: float, most: float) -> None:
    assert near_s(margin_s) == pytest.approx(near)
    assert most_given_back_s(margin_s) == pytest.approx(most)


@pytest.mark.parametrize(
    ("waited_s", "idle_s", "used_s", "expected"),
    [
        # One core, 100 ms. Others had it for 80 of them.
        (0.08, [0.0], 0.02, 0.08),
        # What a bot waited is the most there can be.
        (0.03, [0.0], 0.02, 0.03),
        # Many threads of it waited for each other; the core was theirs, or idle.
        (0.09, [0.5], 0.05, 0.0),
        (0.05, [0.05], 0.05, 0.0),
        (0.05, [0.04], 0.05, 0.01),
        # Two cores: as long as one is idle, nobody waits.
        (0.08, [0.1, 0.0], 0.02, 0.0),
        (0.08, [0.07, 0.0], 0.02, 0.03),
        (0.08, [0.0, 0.0], 0.15, 0.05),
        (0.08, [0.0, 0.0], 0.25, 0.0),
    ],
)
def test_how_long_others_kept_a_bot_from_its_cores(
    waited_s: float, idle_s: list[float], used_s: float, expected: float
) -> None:
    found = kept_by_others_s(waited_s=waited_s, wall_s=0.1, idle_s=idle_s, used_s=used_s)
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("used_s", "num_cores", "expected"),
    [
        (0.0, 1, False),
        (0.06, 1, False),
        (0.061, 1, True),
        (0.1, 2, False),
        (0.121, 2, True),
        (0.9, 16, False),
    ],
)
def test_a_bot_with_most_of_its_cores_delays_itself(used_s: float, num_cores: int, *, expected: bool) -> None:
    assert delays_itself(used_s=used_s, wall_s=0.1, num_cores=num_cores) == expected


def test_elsewhere_no_suspend_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert suspended_s() == 0.0


def test_no_suspend_while_this_runs() -> None:
    # This process may have to wait for a core between two clocks, but not at every try.
    assert min(abs(suspended_s() - suspended_s()) for _ in range(100)) < 0.01

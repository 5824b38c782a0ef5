from __future__ import annotations

import sys

import pytest

from arena.referee.stall import is_stall, suspended_s


@pytest.mark.parametrize(
    ("margin_s", "lag_s", "asleep_s", "computed_s", "expected"),
    [
        (0.05, 0.0, 0.0, 0.0, False),
        (0.05, 0.025, 0.0, 0.0, False),
        (0.05, 0.026, 0.0, 0.0, True),
        (0.05, 0.026, 0.0, 0.89, True),
        (0.05, 0.026, 0.0, 0.9, False),
        (0.0, 0.004, 0.0, 0.0, False),
        (0.0, 0.006, 0.0, 0.0, True),
        (0.05, 0.0, 0.02, 0.0, True),
        (0.05, 0.0, 0.02, 1.0, False),
    ],
)
def test_who_is_at_fault(
    margin_s: float, lag_s: float, asleep_s: float, computed_s: float, *, expected: bool
) -> None:
    found = is_stall(window_s=1.0, margin_s=margin_s, lag_s=lag_s, asleep_s=asleep_s, computed_s=computed_s)
    assert found == expected


def test_elsewhere_no_suspend_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert suspended_s() == 0.0


def test_no_suspend_while_this_runs() -> None:
    assert abs(suspended_s() - suspended_s()) < 0.01

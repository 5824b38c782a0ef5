"""Every hostile bot ends as the table says, in time, and leaves nothing behind, in all available tiers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arena.sandbox.tier import Tier, tiers_to_try
from arena.sandbox.tier_grades import grade
from arena.trials.suite import TrialPlan, run_suite
from arena_plugins.hostile.run import BEHAVIOURS
from arena_plugins.hostile.table import TABLE, Misbehaviour

if TYPE_CHECKING:
    from collections.abc import Callable

GRANTED = sorted(tier for tier in tiers_to_try() if tier is not Tier.T0 and grade(tier).is_granted)
MOST_RSS = 10 << 20
KINDS = {
    "full-column",
    "two-answers",
    "busy",
    "info-flood",
    "exit-3",
    "nan",
    "memory-touched",
    "stop-itself",
    "ponder",
    "thread-bomb",
    "fork-bomb",
    "array-bomb",
    "runs-at-install",
}
"""Bots for T1 whose verdict might differ in a stronger tier."""


def everything(_: Misbehaviour) -> bool:
    return True


def what_may_differ(row: Misbehaviour) -> bool:
    return row.tier > "T1" or bool(row.stronger) or row.name in KINDS


@pytest.mark.parametrize(
    ("tier", "game", "select"),
    [
        pytest.param("T1", "connect-four", everything, id="T1"),
        *(pytest.param(tier.value, "tic-tac-toe", what_may_differ, id=tier.value) for tier in GRANTED[1:]),
    ],
)
def test_hostile_bots(tier: str, game: str, select: Callable[[Misbehaviour], bool]) -> None:
    trials, left = run_suite(TrialPlan([tier], [game]), select)

    assert [trial for trial in trials if trial.deviations] == []
    assert len(trials) == sum(select(row) and row.tier <= tier for row in TABLE)
    assert (left.descriptors, left.files) == (0, 0)
    assert left.rss_bytes < MOST_RSS


def test_the_table_has_every_behaviour() -> None:
    assert BEHAVIOURS.keys() <= {row.name for row in TABLE}


def test_the_table_has_every_row_of_the_acceptance_matrix() -> None:
    assert {row.number for row in TABLE} == set(range(73))


def test_a_bot_that_is_not_as_expected_deviates(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = tuple(row._replace(expected=("draw",)) for row in TABLE if row.name in {"good", "exit-3"})
    slow = next(row for row in TABLE if row.name == "slow")
    monkeypatch.setattr("arena.trials.suite.TABLE", (*wrong, slow))
    trials, _ = run_suite(TrialPlan(["T1"], ["tic-tac-toe"]), lambda row: row.name != "slow")

    assert [len(trial.deviations) for trial in trials] == [1, 1]
    assert "ended in crash, not draw" in trials[1].deviations[0]

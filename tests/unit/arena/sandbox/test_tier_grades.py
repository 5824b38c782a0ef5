from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

import pytest

from arena.errors import ConfigError
from arena.sandbox import tier_grades
from arena.sandbox.attacks.promises import ATTACKS, KEPT
from arena.sandbox.canaries import attackers
from arena.sandbox.canaries.tier_trial import ALL, QUICK, Outcomes, try_attacks
from arena.sandbox.tier import Tier, landlock_abi, tiers_to_try
from arena.sandbox.tier_grades import Grade, default_tier, examine, record

if TYPE_CHECKING:
    from pathlib import Path


LAZY = """
import json, sys
order = json.loads(sys.stdin.readline())
print("nonsense")
print("[]")
if order["attacks"][0][0] == "note":
    print(json.dumps({"attack": "note", "got": open(order["targets"]["program"]).read(), "error": None}))
"""
"""A normal opponent, and an attacker that attempts nothing."""


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("ARENA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


class Judge:
    """Attacks with given results, which are counted."""

    def __init__(self) -> None:
        self.worked: dict[Tier, set[int]] = {}
        self.tried: list[Tier] = []
        self.numbers: frozenset[int] = frozenset()

    def __call__(self, tier: Tier, numbers: frozenset[int]) -> Outcomes:
        self.tried.append(tier)
        self.numbers = numbers
        if tier not in self.worked:
            raise ConfigError(f"no {tier}")
        return Outcomes(frozenset(self.worked[tier]), None, {})


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Judge:
    judge = Judge()
    monkeypatch.setattr(tier_grades, "try_attacks", judge)
    monkeypatch.setattr(tier_grades, "tiers_to_try", lambda: [Tier.T3, Tier.T2, Tier.T1])
    return judge


@pytest.mark.parametrize("tier", sorted(tiers_to_try()))
def test_every_tier_this_system_has_the_means_for_keeps_its_promises(tier: Tier) -> None:
    # The canaries are vulnerable: attacks that a tier does not block succeed. Bots of a root arena lack
    # root's rights, so they cannot read its processes in any tier. Some attacks need more CPU than a busy
    # machine may give them at once.
    open_to = {attack.number for attack in ATTACKS if attack.number and attack.promise(tier) not in KEPT}
    hurt: set[int] = set()
    for _ in range(3):
        trial = try_attacks(tier, ALL)
        assert trial.worked <= {attack.number for attack in ATTACKS}
        assert {attack.number for attack in ATTACKS if attack.promise(tier) in KEPT}.isdisjoint(
            trial.worked
        ), trial.errors
        hurt |= trial.worked
        if open_to - {10, 11, 12, 13} <= hurt:
            return
    assert open_to - {10, 11, 12, 13} <= hurt


def test_a_tier_that_cannot_be_set_up_is_no_tier(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attackers, "INTERPRETER", ("/nowhere/python",))
    result = examine(Tier.T1, ALL)
    assert "cannot run /nowhere/python" in result.cause
    assert not result.is_granted


def test_an_attack_that_was_not_made_counts_as_one_that_worked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lazy = tmp_path / "lazy.py"
    lazy.write_text(LAZY)
    monkeypatch.setattr(attackers, "_PROGRAM", str(lazy))
    trial = try_attacks(Tier.T1)
    assert trial.worked == QUICK
    assert {attack.number for attack in ATTACKS} == ALL


def test_the_default_is_the_strongest_that_withstood_all(judge: Judge) -> None:
    judge.worked = {Tier.T1: set(range(1, 15)), Tier.T2: set(), Tier.T3: {7}}
    assert default_tier() is Tier.T2
    assert judge.tried == [Tier.T3, Tier.T2]


def test_no_weaker_tier_is_tried_than_need_be(judge: Judge) -> None:
    judge.worked = {Tier.T1: set(range(1, 15)), Tier.T2: set(), Tier.T3: set()}
    assert default_tier() is Tier.T3
    assert judge.tried == [Tier.T3]
    assert judge.numbers == QUICK < ALL


def test_what_a_tier_does_not_promise_does_not_cost_it(judge: Judge) -> None:
    judge.worked = {Tier.T1: {1}, Tier.T2: {27, 33}, Tier.T3: {27}}
    assert default_tier() is Tier.T2
    assert examine(Tier.T3, ALL).broken == [27]
    assert judge.numbers == ALL


@pytest.mark.parametrize("weak", [{9}, {0}, {19, 27}, set(ALL)])
def test_one_attack_that_works_costs_the_tier(judge: Judge, weak: set[int]) -> None:
    judge.worked = {Tier.T1: {1, 16}, Tier.T2: weak, Tier.T3: weak}
    assert default_tier() is Tier.T1


def test_without_a_scratch_folder_there_is_no_process(judge: Judge) -> None:
    judge.worked = {Tier.T1: {0}}
    assert default_tier() is Tier.T0
    assert not examine(Tier.T3, ALL).is_granted


def test_what_was_found_is_kept_on_file(judge: Judge, cache: Path) -> None:
    judge.worked = {Tier.T2: set(), Tier.T1: {1}}
    assert record("T2") == {"tier": "T2"}
    tier_grades.grade(Tier.T2)
    tier_grades.grade(Tier.T1)
    tier_grades._grade.cache_clear()  # as in another process  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    assert tier_grades.grade(Tier.T2).is_granted
    assert judge.tried == [Tier.T2, Tier.T1]
    assert json.loads(json.dumps(record("T1"))) == {
        "tier": "T1",
        "failed": [1],
        "kernel": f"{os.uname().sysname} {os.uname().release} {os.uname().machine}",
        "landlock": landlock_abi(),
        "uid_kept": os.geteuid() == 0,
    }
    (file,) = (cache / "isolation").iterdir()
    file.write_text("damaged")
    assert record("T1") == {"tier": "T1"}


def test_without_a_place_for_the_file_tiers_are_granted_all_the_same(
    judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge.worked = {Tier.T3: set()}
    monkeypatch.setenv("ARENA_CACHE", os.devnull)
    assert default_tier() is Tier.T3


def test_in_process_bots_are_kept_from_nothing() -> None:
    result = examine(Tier.T0, ALL)
    assert isinstance(result, Grade)
    assert result.failed == tuple(sorted(ALL - {0}))
    assert result.is_granted
    assert record("T0") == {"tier": "T0"}


def test_other_circumstances_have_another_file(monkeypatch: pytest.MonkeyPatch) -> None:
    circumstances = tier_grades._circumstances.__wrapped__  # noqa: SLF001 - the uncached one  # pyright: ignore[reportPrivateUsage]
    before = circumstances()
    monkeypatch.setattr(sys, "executable", "/another/python")
    assert circumstances() != before

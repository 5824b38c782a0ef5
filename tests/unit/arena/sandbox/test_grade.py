from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

import pytest

from arena.errors import ConfigError
from arena.sandbox import canaries, grade
from arena.sandbox.attacks import ATTACKS, NAMES
from arena.sandbox.canaries import Trial
from arena.sandbox.grade import Grade, default_tier, record, run_attacks
from arena.sandbox.tier import Tier, landlock_abi, tiers_to_try

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("ARENA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


class Judge:
    """Attacks that turn out as told, and are counted."""

    def __init__(self) -> None:
        self.worked: dict[Tier, set[int]] = {}
        self.tried: list[Tier] = []

    def __call__(self, tier: Tier) -> Trial:
        self.tried.append(tier)
        if tier not in self.worked:
            raise ConfigError(f"no {tier}")
        return Trial(frozenset(self.worked[tier]), None, {})


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Judge:
    judge = Judge()
    monkeypatch.setattr(grade, "try_attacks", judge)
    monkeypatch.setattr(grade, "tiers_to_try", lambda: [Tier.T3, Tier.T2, Tier.T1])
    return judge


@pytest.mark.parametrize("tier", sorted(tiers_to_try()))
def test_every_tier_this_system_has_the_means_for_withstands_what_it_must(tier: Tier) -> None:
    trial = canaries.try_attacks(tier)
    if tier >= Tier.T2:
        assert trial.worked == set()
    else:
        # The canaries can be hurt: what T1 leaves open does work on them.
        assert {1, 2, 3, 4, 5, 6, 7, 14, 16} <= trial.worked <= set(NAMES) - {0, 15, 17}


def test_a_tier_that_cannot_be_set_up_is_no_tier(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canaries, "_INTERPRETER", ("/nowhere/python",))
    result = run_attacks(Tier.T1)
    assert result.cause
    assert not result.is_granted


def test_an_attack_that_was_not_made_counts_as_one_that_worked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lazy = tmp_path / "lazy.py"
    lazy.write_text("print('nonsense', flush=True)")
    monkeypatch.setattr(canaries, "_ATTACKS", str(lazy))
    trial = canaries.try_attacks(Tier.T1)
    assert trial.worked == set(NAMES) == set(ATTACKS)


def test_the_default_is_the_strongest_that_withstood_all(judge: Judge) -> None:
    judge.worked = {Tier.T1: set(range(1, 15)), Tier.T2: set(), Tier.T3: {7}}
    assert default_tier() is Tier.T2
    assert judge.tried == [Tier.T3, Tier.T2]


def test_no_weaker_tier_is_tried_than_need_be(judge: Judge) -> None:
    judge.worked = {Tier.T1: set(range(1, 15)), Tier.T2: set(), Tier.T3: set()}
    assert default_tier() is Tier.T3
    assert judge.tried == [Tier.T3]


@pytest.mark.parametrize("weak", [{9}, {0}, set(NAMES)])
def test_one_attack_that_works_costs_the_tier(judge: Judge, weak: set[int]) -> None:
    judge.worked = {Tier.T1: {1, 16}, Tier.T2: weak, Tier.T3: weak}
    assert default_tier() is Tier.T1


def test_without_a_scratch_folder_there_is_no_process(judge: Judge) -> None:
    judge.worked = {Tier.T1: {0}}
    assert default_tier() is Tier.T0
    assert not run_attacks(Tier.T3).is_granted


def test_what_was_found_is_kept_on_file(judge: Judge, cache: Path) -> None:
    judge.worked = {Tier.T2: set(), Tier.T1: {1}}
    assert record("T2") == {"tier": "T2"}
    grade.grade(Tier.T2)
    grade.grade(Tier.T1)
    grade._grade.cache_clear()  # as in another process  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    assert grade.grade(Tier.T2).is_granted
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
    result = run_attacks(Tier.T0)
    assert isinstance(result, Grade)
    assert result.failed == tuple(range(1, len(NAMES)))
    assert result.is_granted
    assert record("T0") == {"tier": "T0"}


def test_other_circumstances_have_another_file(monkeypatch: pytest.MonkeyPatch) -> None:
    circumstances = grade._circumstances.__wrapped__  # noqa: SLF001 - the uncached one  # pyright: ignore[reportPrivateUsage]
    before = circumstances()
    monkeypatch.setattr(sys, "executable", "/another/python")
    assert circumstances() != before

"""The command is tested beside what it shows, since the attacks are the whole of it."""

from __future__ import annotations

import json
import os
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from arena.cli.doctor import doctor
from arena.sandbox import grade, tier
from arena.sandbox.attacks import NAMES
from arena.sandbox.launch import seccomp
from arena.sandbox.tier import Tier, tiers_to_try

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ARENA_CACHE", str(tmp_path / "cache"))


def run(*arguments: str) -> str:
    result = CliRunner().invoke(doctor, arguments)
    assert result.exit_code == 0, result.output
    return result.output


def test_people_see_attacks_and_facts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "odd.pth").write_text("import odd\n")
    (tmp_path / "even.pth").write_text("/a/folder\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    output = run()
    assert all(name in output for name in NAMES.values())
    assert f"{grade.default_tier()} is what --isolation auto takes" in output
    assert str(tmp_path / "odd.pth") in output
    assert "even.pth" not in output
    assert f"Landlock ABI {grade.landlock_abi()}" in output


def test_programs_see_the_same() -> None:
    told = json.loads(run("--format", "json"))
    assert (told["type"], told["auto"]) == ("doctor", grade.default_tier().value)
    assert [row["attack"] for row in told["attacks"]] == list(NAMES)
    expected = {tier.value for tier in tiers_to_try()}
    assert set(told["granted"]) <= expected
    assert told["attacks"][1]["T1"] == "WORKS"
    lines = run("--format", "ndjson").splitlines()
    assert len(lines) == len(NAMES)


def test_a_tier_that_is_not_to_be_had_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena.sandbox.recipe.tiers_to_try", lambda: [Tier.T1])
    monkeypatch.setattr(grade, "tiers_to_try", lambda: [Tier.T1])
    output = run()
    assert "no tier" in output
    assert "T1 is what --isolation auto takes" in output
    assert "T3: this system has no means for tier T3" in output


@pytest.mark.parametrize(
    ("platform", "name", "said"),
    [
        ("darwin", "posix", "darwin has no Landlock, seccomp and namespaces: no tier above T1"),
        ("darwin", "posix", "threads and children of bots are not watched"),
        ("win32", "nt", "win32 has no tier for processes: bots run inside the arena"),
    ],
)
def test_it_says_aloud_what_is_weaker_elsewhere(
    monkeypatch: pytest.MonkeyPatch, platform: str, name: str, said: str
) -> None:
    grades = {each: _grade(each, uid_kept=False) for each in Tier}
    monkeypatch.setattr(grade, "run_attacks", grades.__getitem__)
    monkeypatch.setattr(tier, "sys", SimpleNamespace(platform=platform))
    monkeypatch.setattr(tier, "os", SimpleNamespace(name=name))
    monkeypatch.setattr(grade, "default_tier", lambda: Tier.T1)
    weaker = [line for line in run().splitlines() if line.startswith("weaker ")]
    assert any(said in line for line in weaker)


def test_it_says_what_a_linux_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    def tell(tier_: Tier) -> grade.Grade:
        return _grade(tier_, uid_kept=False)

    monkeypatch.setattr(grade, "run_attacks", tell)
    monkeypatch.setattr(grade, "default_tier", lambda: Tier.T1)
    monkeypatch.setattr(tier, "landlock_abi", lambda: 4)
    monkeypatch.setattr(seccomp, "ARCHITECTURES", {})
    told = json.loads(run("--format", "json"))["weaknesses"]
    assert "Landlock has ABI 4 here, and tiers above T1 need 6" in told[0]
    assert f"no filter of system calls for {os.uname().machine}" in told[1]


@pytest.mark.parametrize(
    ("user", "kept", "said"),
    [(0, False, "a user of its own"), (0, True, "root without"), (1000, False, "who is not root")],
)
def test_it_says_who_bots_are(monkeypatch: pytest.MonkeyPatch, user: int, kept: bool, said: str) -> None:  # noqa: FBT001 - a parameter of the test
    monkeypatch.setattr("os.geteuid", lambda: user)
    grades = {tier: _grade(tier, uid_kept=kept) for tier in Tier}
    monkeypatch.setattr(grade, "run_attacks", grades.__getitem__)
    assert said in run()


def _grade(tier: Tier, *, uid_kept: bool) -> grade.Grade:
    return grade.Grade(tier=tier, failed=(), kernel="", landlock=0, uid_kept=uid_kept)

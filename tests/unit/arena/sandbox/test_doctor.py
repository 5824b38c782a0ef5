"""`arena doctor`: the command and its output; the attacks themselves are tested elsewhere."""

from __future__ import annotations

import json
import os
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING

import msgspec
import pytest
from click.testing import CliRunner

from arena.cli.doctor import doctor
from arena.cli.exits import Exit, exit_code
from arena.errors import ConfigError
from arena.executor import sandbox_trial
from arena.sandbox import tier, tier_grades
from arena.sandbox.attacks.promises import ATTACKS
from arena.sandbox.canaries.tier_trial import ALL, names_in
from arena.sandbox.launch import seccomp
from arena.sandbox.limits.exact import describe_limits
from arena.sandbox.tier import Tier, tiers_to_try

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
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
    assert all(attack.name in output for attack in ATTACKS)
    assert f"{tier_grades.default_tier()} is used by --isolation auto" in output
    assert str(tmp_path / "odd.pth") in output
    assert "even.pth" not in output
    assert f"Landlock ABI {tier_grades.landlock_abi()}" in output


def test_programs_see_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    told = json.loads(run("--format", "json"))
    assert (told["type"], told["auto"]) == ("doctor", tier_grades.default_tier().value)
    assert [row["attack"] for row in told["attacks"]] == [attack.number for attack in ATTACKS]
    expected = {tier.value for tier in tiers_to_try()}
    assert set(told["granted"]) <= expected
    assert told["attacks"][1]["T1"] == "WORKS"
    monkeypatch.setattr(tier_grades, "run_attacks", _told({tier: _fake(tier) for tier in Tier}))
    lines = run("--format", "ndjson").splitlines()
    assert len(lines) == len(ATTACKS)


def test_a_tier_that_is_not_to_be_had_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena.sandbox.launch_recipe.tiers_to_try", lambda: [Tier.T1])
    monkeypatch.setattr(tier_grades, "tiers_to_try", lambda: [Tier.T1])
    output = run()
    assert "no tier" in output
    assert "T1 is used by --isolation auto" in output
    assert "T3: tier T3 is not available on this system" in output


def test_it_says_what_is_not_granted_why_and_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    grades = {
        Tier.T1: _fake(Tier.T1),
        Tier.T2: msgspec.structs.replace(_fake(Tier.T2), failed=(19, 27, 29)),
        Tier.T3: msgspec.structs.replace(_fake(Tier.T3), failed=tuple(ALL), cause="[Errno 1] No: 'mount /x'"),
    }
    restricted = tmp_path / "proc" / "sys" / "kernel" / "apparmor_restrict"
    restricted.parent.mkdir(parents=True)
    restricted.write_text("1\n")
    monkeypatch.setattr(tier_grades, "_RESTRICTED", restricted)
    monkeypatch.setattr(tier_grades, "run_attacks", _told(grades))
    monkeypatch.setattr(tier_grades, "default_tier", lambda: Tier.T1)
    told = json.loads(run("--format", "json"))
    assert (told["auto"], told["limits"], told["granted"]) == ("T1", describe_limits(), ["T1"])
    assert told["causes"]["T2"].endswith("its promise about these attacks: 19, 29")
    assert told["causes"]["T3"] == "[Errno 1] No: 'mount /x'"
    assert "bubblewrap/issues/632" in told["cures"]["T3"]
    rows = {row["attack"]: row for row in told["attacks"]}
    assert [rows[27][tier] for tier in ("T1", "T2", "T3")] == ["blocked", "WORKS", "no tier"]
    output = run()
    assert all(text in output for text in (*told["causes"].values(), *told["cures"].values()))


@pytest.mark.parametrize(
    ("cause", "files", "said"),
    [
        ("[Errno 1] Operation not permitted: 'clone'", {"_CLONE": "0"}, "_CLONE=1"),
        ("[Errno 28] No space left on device: 'clone'", {"_MOST": "0", "_CLONE": "1"}, "_MOST=10000"),
        ("[Errno 1] Operation not permitted: 'clone'", {"_MOST": "60000", "_RESTRICTED": "0"}, "Docker"),
        ("[Errno 1] Operation not permitted: 'pivot_root'", {"_RESTRICTED": "nonsense"}, "Docker"),
        ("[Errno 95] Not supported: 'landlock ruleset'", {}, "lsm="),
        ("cannot run /nowhere/python: No such file or directory", {"_CLONE": "0"}, ""),
    ],
)
def test_cures(
    cause: str, files: dict[str, str], said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("_CLONE", "_MOST", "_RESTRICTED"):
        monkeypatch.setattr(tier_grades, name, tmp_path / name)
        if name in files:
            (tmp_path / name).write_text(files[name])
    monkeypatch.setattr(tier_grades.sys, "platform", "linux")
    found = tier_grades.cure(cause)
    assert said in found
    assert bool(found) == bool(said)


OWN = '''
import os
def attack_write(targets):
    """Write outside.

    More about it.
    """
    with open(targets["outside"], "w") as file:
        file.write("x")
def attack_nothing(targets):
    return 0
def attack_tell(targets):
    "Read the store"
    return open(targets["store"]).read()
def attack_boast(targets):
    return os.getpid()
def helper(targets):
    return True
'''


def test_a_host_tries_attacks_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(OWN)
    monkeypatch.setattr(tier_grades, "run_attacks", _told({tier: _fake(tier) for tier in Tier}))
    told = json.loads(run("--attacks", str(file), "--format", "json"))
    rows = {row["attack"]: row for row in told["attacks"] if isinstance(row["attack"], str)}
    assert {key: row["name"] for key, row in rows.items()} == {
        "mine.py:attack_write": "Write outside.",
        "mine.py:attack_nothing": "attack_nothing",
        "mine.py:attack_tell": "Read the store",
        "mine.py:attack_boast": "attack_boast",
    }
    strong = [tier for tier in tiers_to_try() if tier > Tier.T1]
    for key, row in rows.items():
        assert row["T1"] == ("blocked" if key.endswith("nothing") else "WORKS")
        assert {row[tier] for tier in strong} <= {"WORKS" if key.endswith("boast") else "blocked"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "cannot read the attacks of"),
        ("def attack_(:", "is not a Python file: "),
        ("\0", "is not a Python file: "),
        (
            "attack_x = 1\nclass A:\n    def attack_y(self): ...\n",
            "has no attack; define a function attack_NAME",
        ),
    ],
)
def test_a_file_without_attacks_is_refused(text: str | None, said: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    if text is not None:
        file.write_text(text)
    with pytest.raises(ConfigError, match=said) as error:
        names_in(file)
    assert exit_code(error.value) == Exit.USAGE
    assert "\n" not in str(error.value)


def test_runtimes_are_asked_for_a_move(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    node = tmp_path / "node"
    node.write_text("#!/bin/sh\necho 'Error: no memory' >&2; exit 1\n")
    node.chmod(0o755)
    (tmp_path / "sh").symlink_to("/bin/sh")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("ARENA_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(tier_grades, "run_attacks", _told({tier: _fake(tier) for tier in Tier}))
    told = {row["program"]: row for row in json.loads(run("--format", "json"))["runtimes"]}
    assert set(told) == {str(node), str(tmp_path / "sh")}
    assert (told[str(node)]["runtime"], told[str(node)]["verdict"]) == ("node", "fails")
    assert "Error: no memory" in told[str(node)]["cause"]
    assert told[str(tmp_path / "sh")]["verdict"] == "plays"
    output = run()
    assert "\nruntimes  node fails   sh" in output
    assert f"          {node}: init_crash" in output
    assert not (tmp_path / "home").exists()


def test_without_a_runtime_none_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(tier_grades, "run_attacks", _told({tier: _fake(tier) for tier in Tier}))
    assert "\nruntimes  none" in run()


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
    monkeypatch.setattr(tier_grades, "run_attacks", _told(grades))
    # No bot can be started on a simulated system.
    monkeypatch.setattr(sandbox_trial, "try_runtimes", list[object])
    monkeypatch.setattr(tier, "sys", SimpleNamespace(platform=platform))
    monkeypatch.setattr(tier, "os", SimpleNamespace(name=name))
    monkeypatch.setattr(tier_grades, "default_tier", lambda: Tier.T1)
    weaker = [line for line in run().splitlines() if line.startswith("weaker ")]
    assert any(said in line for line in weaker)


def test_it_says_what_a_linux_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tier_grades, "run_attacks", _told({tier: _fake(tier) for tier in Tier}))
    monkeypatch.setattr(tier_grades, "default_tier", lambda: Tier.T1)
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
    monkeypatch.setattr(tier_grades, "run_attacks", _told(grades))
    assert said in run()


def _told(grades: dict[Tier, tier_grades.Grade]) -> Callable[[Sequence[Tier]], list[tier_grades.Grade]]:
    return lambda tiers: [grades[tier] for tier in tiers]


def _fake(tier: Tier) -> tier_grades.Grade:
    return _grade(tier, uid_kept=False)


def _grade(tier: Tier, *, uid_kept: bool) -> tier_grades.Grade:
    return tier_grades.Grade(tier=tier, failed=(), kernel="", landlock=0, uid_kept=uid_kept)

"""`arena bots install` and `remove`, and what the other commands then know of a bot."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest

from wheels import BOT, make_index, make_wheel

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import CommandLine

FAST = ("--game", "tic-tac-toe", "--executor", "inline", "--require-tier", "T1", "--rounds", 1, "--quiet")


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    return make_wheel(tmp_path, "first_legal", {"first": "first_legal"}, {"first_legal.py": BOT})


def test_an_installed_bot_is_one_like_any_other(arena: CommandLine, wheel: Path) -> None:
    sha256 = hashlib.sha256(wheel.read_bytes()).hexdigest()
    done = arena("bots", "install", wheel, "--sha256", sha256)
    assert done.stdout.splitlines() == ["installed first_legal 1.0: first", f"sha256 {sha256} {wheel.name}"]
    assert done.stderr == "next: arena bots check first\n"
    rows = {row["name"]: row for row in arena.objects("bots", "list")}
    assert (rows["first"]["place"], rows["first"]["status"]) == ("folder", "ok")
    assert rows["random"]["place"] == "environment"
    (info,) = arena.objects("bots", "info", "first")
    place = f"1.0-{sha256[:8]}"
    assert info["folder"] == str(arena.folder / "home" / "bots" / "first-legal" / place / "lib")
    assert info["files"] == {".whl": sha256}
    failed = arena("bots", "check", "first", "--game", "tic-tac-toe", status=5).stdout
    assert failed.count("FAIL") == 1

    arena("tournament", "first", "random", *FAST, "--name", "cup")
    arena("match", "first", "random", *FAST, "--name", "duel")
    arena("resume", "cup", "--rounds", 2, "--quiet")
    assert len(arena.objects("matches")) == 6
    arena("tournament", "first", "random", *FAST, "--isolation", "none", status=2)

    assert arena.lines("bots", "remove", "FIRST") == ["removed first"]
    # What was entered is kept as a copy, so the tournament goes on without the package.
    arena("resume", "cup", "--rounds", 3, "--quiet")
    assert len(arena.objects("matches")) == 8


def test_another_wheel_is_another_bot(arena: CommandLine, wheel: Path, tmp_path: Path) -> None:
    """Even of the same version: what was entered is resumed, and a new tournament enters another one."""
    arena("bots", "install", wheel)
    arena("tournament", "first", "random", *FAST, "--name", "cup")
    arena("bots", "remove", "first-legal")
    files = {"first_legal.py": BOT + "\n"}
    arena("bots", "install", make_wheel(tmp_path / "b", "first_legal", {"first": "first_legal"}, files))
    arena("resume", "cup", "--rounds", 2, "--quiet")
    entered = arena("tournament", "first", "random", *FAST, "--name", "next")
    assert "first changed since it played in cup" in entered.stderr
    with_first = {match["first"] for match in arena.objects("matches") if match["first"] != "random"}
    assert with_first == {"first"}


def test_what_comes_along_is_told(arena: CommandLine, wheel: Path, tmp_path: Path) -> None:
    outer = make_wheel(tmp_path, "outer", {"outer": "outer"}, {"outer.py": BOT}, requires=["first_legal"])
    lines = arena.lines("bots", "install", "outer", "--index", make_index(tmp_path / "index", wheel, outer))
    assert lines[0] == "installed outer 1.0: outer"
    assert lines[2] == f"sha256 {hashlib.sha256(wheel.read_bytes()).hexdigest()} {wheel.name}"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("install", "nowhere.whl"), "arena: there is no file nowhere.whl"),
        (("install", "x.whl", "--sha256", "12"), "64 hexadecimal digits"),
        (("remove", "nobody"), "arena: no installed wheel has a bot or a name nobody (installed: nothing)"),
        (("remove", "random"), "arena: random was not installed by arena bots install"),
    ],
)
def test_what_is_refused(arena: CommandLine, arguments: tuple[str, ...], said: str) -> None:
    assert said in arena("bots", *arguments, status=2).stderr


def test_a_broken_one_is_listed_and_can_be_removed(arena: CommandLine, wheel: Path) -> None:
    arena("bots", "install", wheel)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()[:8]
    (arena.folder / "home" / "bots" / "first-legal" / f"1.0-{digest}" / "install.toml").unlink()
    (row,) = (row for row in arena.objects("bots", "list") if row["place"] == "folder")
    assert f"arena bots remove first-legal@{digest}," in str(row["status"])
    assert (row["version"], row["newest"]) == ("1.0", False)
    assert arena.lines("bots", "remove", f"first-legal@{digest}") == [f"removed first-legal@{digest}"]


def test_versions_meet(arena: CommandLine, wheel: Path, tmp_path: Path) -> None:
    """One bot from two wheels is two competitors; a third is called otherwise."""
    files = {"first_legal.py": BOT}
    new = make_wheel(tmp_path / "new", "first_legal", {"first": "first_legal"}, files, version="1.1rc1")
    newest = hashlib.sha256(new.read_bytes()).hexdigest()[:8]
    oldest = hashlib.sha256(wheel.read_bytes()).hexdigest()[:8]
    arena("bots", "install", new)
    done = arena("bots", "install", wheel)
    assert done.stderr == f"next: arena bots check first@{oldest}\n"
    assert "is installed already" in arena("bots", "install", wheel, status=2).stderr
    rows = [row for row in arena.objects("bots", "list") if row["name"] == "first"]
    assert [(row["version"], row["hash"], row["newest"], row["status"]) for row in rows] == [
        ("1.1rc1", newest, True, "ok"),
        ("1.0", oldest, False, "ok"),
    ]
    table = arena.lines("bots", "list")
    assert table[0].split()[:5] == ["Name", "Distribution", "Version", "Hash", "Newest"]
    assert ["first", "first_legal", "1.0", oldest, "no"] in [line.split()[:5] for line in table]

    arena("match", "first@1.0", "first@1.1rc1", *FAST, "--name", "duel")
    assert {entry["bot"] for entry in arena.objects("crosstable", "duel")} == {"first@1.0", "first@1.1rc1"}
    arena("tournament", f"first@{oldest}", "first", "random", *FAST, "--name", "cup")
    arena("resume", "cup", "--rounds", 2, "--quiet")
    twice = arena("tournament", "first@1.1RC1", "first", *FAST, status=2)
    assert "is entered twice" in twice.stderr
    missing = arena("match", "first@0.3", "first", *FAST, status=2)
    assert missing.stderr == "arena: first@0.3 is not installed; there are 1.0, 1.1rc1\n"
    game = arena("match", "first@1.0", "first", "--game", "tic-tac-toe@1", status=2)
    assert "only bots have versions; write tic-tac-toe" in game.stderr

    (info,) = arena.objects("bots", "info", "first@1.0")
    assert (info["version"], info["spec"]) == ("1.0", "first")
    checked = arena("bots", "check", f"first@{oldest}", "--game", "tic-tac-toe", status=5)
    assert checked.stderr == f"arena: first@{oldest} failed 1 of the checks above\n"
    severed = arena("bots", "remove", "first", status=2).stderr
    assert f"remove one of first@{oldest} (1.0), first@{newest} (1.1rc1)" in severed
    assert arena.lines("bots", "remove", "first@1.1rc1") == ["removed first"]

    arena("bots", "install", new, "--as", "next")
    arena("match", "next", "first", *FAST, "--name", "again")
    assert "several" in arena("bots", "install", _two(tmp_path), "--as", "x", status=2).stderr


def _two(folder: Path) -> Path:
    return make_wheel(folder, "pair", {"one": "pair", "two": "pair"}, {"pair.py": BOT})

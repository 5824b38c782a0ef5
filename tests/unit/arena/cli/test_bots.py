"""`arena bots`: the list of installed bots, their check, and creating a new one.

`arena bots install` and `remove`, and what the other commands then know of a bot.
"""

from __future__ import annotations

import hashlib
import sys
from typing import TYPE_CHECKING

import pytest

from arena.content.packages import OURS
from arena.executor.sandboxed import load_statuses
from children import arena_environment, run_child
from wheels import BOT, Metadata, make_index, make_wheel

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from arena_plugins.entries import Entry
    from command_line import CommandLine


@pytest.fixture(scope="module", autouse=True)
def bundled_bots_are_loaded_once() -> Iterator[None]:
    """Load each bundled bot in one `arena bots list` of this module only; other lists would load the same.

    Loading the bundled ones takes half a second of CPU.
    """
    known: dict[Entry, str] = {}

    def load_once(group: str, entries: Sequence[Entry]) -> list[str]:
        new = [entry for entry in entries if entry.distribution != OURS or entry not in known]
        known.update(zip(new, load_statuses(group, new), strict=True))
        return [known[entry] for entry in entries]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("arena.executor.sandboxed.load_statuses", load_once)
        yield


def _install(folder: Path, name: str, points: str) -> None:
    metadata = folder / f"{name}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[arena.bots]\n{points}\n")


def test_list_shows_each_bot_once_loaded(
    arena: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plugin that fails, a missing one, and a name of two distributions do not affect the other bots."""
    plugins = tmp_path / "plugins"
    _install(
        plugins, "crashing", "crashing = crashing_bot\nghost = no_such_module\nrandom = arena_bots.random"
    )
    (plugins / "crashing_bot.py").write_text("raise RuntimeError('\\x1b[2Jboom')\n")
    monkeypatch.setattr(sys, "path", [str(plugins), *sys.path])
    monkeypatch.setenv("PYTHONPATH", str(plugins))
    rows = arena.objects("bots", "list")
    status = {(row["name"], row["distribution"]): str(row["status"]) for row in rows}
    assert status["minimax", "bot-arena"] == "ok"
    assert "RuntimeError: [2Jboom" in status["crashing", "crashing"]
    assert "No module named 'no_such_module'" in status["ghost", "crashing"]
    for owner in ("bot-arena", "crashing"):
        assert "uninstall all but one" in status["random", owner]
    assert "crashing_bot" not in sys.modules
    assert "boom" in arena("bots", "list").stdout


def test_check_numbers_its_lines(arena: CommandLine) -> None:
    # A bot without kernels: a check keeps no compiled code, so other bots would compile for seconds.
    lines = arena.lines("bots", "check", "random", "--game", "tic-tac-toe")
    assert [line[:7] for line in lines[:-1]] == [f"PASS {number:2}" for number in range(1, len(lines))]
    assert lines[-1] == "random keeps the contract in tic-tac-toe"


def test_check_fails_with_status_5(arena: CommandLine) -> None:
    result = arena("bots", "check", "minimax:depth=0", status=5)
    assert result.stdout.startswith("FAIL  1 ")
    assert result.stderr.startswith("arena: minimax:depth=0 failed ")


def test_check_tries_the_arena_with_hostile_bots(arena: CommandLine) -> None:
    chosen = ("--only", "nan", "--only", "sleep")
    lines = arena.lines("bots", "check", "--hostile", *chosen, "--game", "tic-tac-toe")
    assert {line.split(maxsplit=2)[2] for line in lines[:-1]} == {"nan (malformed)", "sleep (time_move)"}
    assert lines[-1].startswith("all 2 hostile bots got their verdict in tic-tac-toe, tier T")


def test_check_tries_a_bot_under_stress(arena: CommandLine) -> None:
    bot = ("bots", "check", "random", "--game", "tic-tac-toe", "--hostile")
    lines = arena.lines(*bot)
    assert lines[-2].startswith("PASS ")
    assert lines[-2].split(maxsplit=2)[2].startswith("Its process is killed between two matches (")
    assert lines[-1] == "random keeps the contract in tic-tac-toe"
    numbers = [int(line.split()[1]) for line in lines[:-1]]
    assert numbers == list(range(1, len(numbers) + 1))
    failing = arena("bots", "check", "minimax:depth=0", "--hostile", status=5)
    assert len(failing.stdout.splitlines()) == 1


def test_check_needs_one_thing_to_check(arena: CommandLine) -> None:
    assert "give a BOT to check" in arena("bots", "check", status=2).stderr
    chosen = ("--hostile", "--only", "nan")
    assert "--only chooses among" in arena("bots", "check", "random", *chosen, status=2).stderr
    assert "no hostile bot nobody" in arena("bots", "check", "--hostile", "--only", "nobody", status=2).stderr


def test_info_tells_the_identity(arena: CommandLine) -> None:
    lines = arena.lines("bots", "info", "minimax:depth=2,st=0.5")
    assert "limit         0.5/move" in lines
    (found,) = arena.objects("bots", "info", "minimax:depth=2")
    assert found["limit"] is None
    assert found["entry"] == "arena_bots.minimax"


def test_a_new_bot_passes_its_own_tests(arena: CommandLine) -> None:
    result = arena("bots", "new", "my-bot")
    folder = arena.folder / "my-bot"
    assert {str(folder.name + "/" + path) for path in ("pyproject.toml", "README.md")} <= set(
        result.stdout.splitlines()
    )
    assert result.stderr.startswith(
        "next: cd my-bot && pip install -e '.[test]' && pytest && arena bots check my-bot"
    )
    _install(folder, "arena-my-bot", "my-bot = arena_my_bot.bot")
    env = {**arena_environment(arena.folder), "PYTHONPATH": str(folder)}
    run_child([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"], cwd=folder, env=env)
    run_child([sys.executable, "-m", "arena", "bots", "check", "my-bot"], cwd=arena.folder, env=env)


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
    # The entered bot is kept as a copy, so the tournament continues without the package.
    arena("resume", "cup", "--rounds", 3, "--quiet")
    assert len(arena.objects("matches")) == 8


def test_another_wheel_is_another_bot(arena: CommandLine, wheel: Path, tmp_path: Path) -> None:
    """A wheel with other content is another competitor even with the same version; the first can resume."""
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
    outer = make_wheel(
        tmp_path, "outer", {"outer": "outer"}, {"outer.py": BOT}, Metadata(requires=["first_legal"])
    )
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
    """Two wheels of one bot are two competitors; a third is installed under another name."""
    files = {"first_legal.py": BOT}
    new = make_wheel(
        tmp_path / "new", "first_legal", {"first": "first_legal"}, files, Metadata(version="1.1rc1")
    )
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

"""`arena bots`: what is installed, whether it keeps the contract, and a new one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from children import arena_environment, run_child

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from command_line import CommandLine


def _install(folder: Path, name: str, points: str) -> None:
    metadata = folder / f"{name}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[arena.bots]\n{points}\n")


def test_list_shows_each_bot_once_loaded(
    arena: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plugin that fails, one that is missing, and a name that two distributions offer hurt nobody."""
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
    lines = arena.lines("bots", "check", "minimax:depth=1", "--game", "tic-tac-toe")
    assert [line[:7] for line in lines[:-1]] == [f"PASS {number:2}" for number in range(1, len(lines))]
    assert lines[-1] == "minimax:depth=1 keeps the contract in tic-tac-toe"


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

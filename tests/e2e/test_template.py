"""Third-party plugins beside the installed wheel: the template competes, a broken one is reported."""

from __future__ import annotations

import json
import sys
import sysconfig
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from children import arena_environment, run_child
from source_tree import ROOT

if TYPE_CHECKING:
    import subprocess

    from conftest import Built

TEMPLATE = ROOT / "plugins" / "template"
BROKEN_PYPROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "broken-bot"
version = "1.0"

[project.entry-points."arena.bots"]
broken = "broken_bot"
"""


@dataclass(frozen=True)
class Installed:
    """A virtual environment, and the home of its `arena`."""

    python: Path
    folder: Path

    def arena(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the command `arena` to its end."""
        env = arena_environment(self.folder, scripts=self.python.parent)
        return run_child([self.python.parent / "arena", *arguments], cwd=self.folder, env=env, deadline=300)


def _template_bot() -> str:
    pyproject = tomllib.loads((TEMPLATE / "pyproject.toml").read_text(encoding="utf-8"))
    return next(iter(cast("dict[str, str]", pyproject["project"]["entry-points"]["arena.bots"])))


def _wheel_of(source: Path, folder: Path) -> Path:
    command = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", folder, source]
    run_child(command, cwd=folder, deadline=300)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def installed(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Install the wheel, the template and a plugin that raises on import; libraries come from outside."""
    folder = tmp_path_factory.mktemp("installed")
    broken = folder / "broken"
    (broken / "broken_bot").mkdir(parents=True)
    (broken / "pyproject.toml").write_text(BROKEN_PYPROJECT, encoding="utf-8")
    (broken / "broken_bot" / "__init__.py").write_text(
        'raise RuntimeError("no licence key")\n', encoding="utf-8"
    )
    wheels = [built.wheel]
    for source in (TEMPLATE, broken):
        target = folder / f"wheel-{source.name}"
        target.mkdir()
        wheels.append(_wheel_of(source, target))
    run_child([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], cwd=folder)
    python = folder / "venv" / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index"]
    run_child([*install, *wheels], cwd=folder)
    paths = run_child([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], cwd=folder)
    (Path(paths.stdout.strip()) / "outer.pth").write_text(
        sysconfig.get_path("purelib") + "\n", encoding="utf-8"
    )
    return Installed(python, folder)


def test_the_installed_packages_are_tested(installed: Installed) -> None:
    code = "import arena, arena_plugins, arena_bots, arena_db as d; print(arena.__file__, d.__file__)"
    shown = run_child([installed.python, "-c", code], cwd=installed.folder).stdout.split()
    assert all(Path(path).is_relative_to(installed.folder / "venv") for path in shown)


def test_template_is_found_by_its_entry_point(installed: Installed) -> None:
    assert _template_bot() in installed.arena("bots", "list").stdout


def test_broken_plugin_is_reported(installed: Installed) -> None:
    done = installed.arena("bots", "list")
    said = done.stdout + done.stderr
    assert "broken" in said
    assert "no licence key" in said


def test_template_plays_a_tournament(installed: Installed) -> None:
    bots = [_template_bot(), "random", "minimax:depth=1"]
    played = installed.arena(
        *("tournament", *bots, "--game", "tic-tac-toe", "--rounds", "1", "--name", "e2e"),
        *("--require-tier", "T1", "--srand", "7", "--concurrency", "1"),
    )
    assert played.stdout.count("Finished game") == 6
    ranks = [line.split() for line in played.stdout.splitlines()]
    assert any(words[1:2] == [bots[0]] for words in ranks if words and words[0].isdigit())
    table = json.loads(installed.arena("leaderboard", "--format", "json").stdout)
    assert bots[0] in json.dumps(table)

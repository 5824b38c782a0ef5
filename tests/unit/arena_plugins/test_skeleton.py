"""A new bot is a renamed copy of the template that works at once."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING

import pytest

from arena_plugins import PluginError, skeleton
from arena_plugins.command import host_path
from arena_plugins.skeleton import write_skeleton

if TYPE_CHECKING:
    from pathlib import Path


def test_a_skeleton_is_renamed_throughout(tmp_path: Path) -> None:
    files = write_skeleton("My.Bot-2", tmp_path / "new" / "bot")
    assert [str(file.relative_to(tmp_path / "new" / "bot")) for file in files] == [
        "README.md",
        "arena_my_bot_2/__init__.py",
        "arena_my_bot_2/bot.py",
        "arena_my_bot_2/py.typed",
        "pyproject.toml",
        "tests/test_bot.py",
    ]
    assert not any("template" in file.read_text().lower() for file in files)
    project = tomllib.loads(files[4].read_text())["project"]
    assert project["name"] == "arena-my-bot-2"
    assert project["entry-points"] == {"arena.bots": {"My.Bot-2": "arena_my_bot_2.bot"}}


def test_the_tests_of_a_skeleton_pass(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    write_skeleton("mine", folder)
    info = folder / "arena_mine-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: arena-mine\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text("[arena.bots]\nmine = arena_mine.bot\n")
    done = subprocess.run(  # noqa: S603 - this interpreter
        [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", folder],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *host_path()])},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "5 passed" in done.stdout, done.stdout + done.stderr


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match=r'"\.\./x" cannot be a name'):
        write_skeleton("../x", tmp_path / "new")
    with pytest.raises(PluginError, match="exists; choose another folder"):
        write_skeleton("mine", tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(PluginError, match="cannot write"):
        write_skeleton("mine", tmp_path / "file" / "new")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_wheel_has_the_template_beside_the_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skeleton, "__file__", str(tmp_path / "arena_plugins" / "skeleton.py"))
    with pytest.raises(PluginError, match="lacks the template"):
        write_skeleton("mine", tmp_path / "none")
    beside = tmp_path / "arena_plugins" / "template"
    (beside / "__pycache__").mkdir(parents=True)
    (beside / "__pycache__" / "x.pyc").write_bytes(b"\xff")
    (beside / "pyproject.toml").write_text("arena-template")
    (file,) = write_skeleton("mine", tmp_path / "mine")
    assert file.read_text() == "arena-mine"

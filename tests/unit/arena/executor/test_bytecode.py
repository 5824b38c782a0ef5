"""Bytecode is written for packages of the environment that bots import, and for no file of a bot."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from importlib.util import cache_from_source, find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from arena.content.store import state_of
from arena.entrants import resolve
from arena.executor import bytecode
from arena.executor.bytecode import MODULES, write_bytecode
from arena.executor.sandboxed import load_statuses
from arena.executor.worker_seats import make_seat
from arena.sandbox.tier import Tier
from arena_plugins.entries import BOTS

if TYPE_CHECKING:
    from collections.abc import Iterator

CODES = ("import uncompiled.inner\n", "VALUE = 1\n")


@pytest.fixture(autouse=True)
def once_per_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    write_bytecode.cache_clear()
    yield
    write_bytecode.cache_clear()


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Return the files of a package that was installed without bytecode and is imported by bots."""
    package = tmp_path / "site" / "uncompiled"
    package.mkdir(parents=True)
    files = package / "__init__.py", package / "inner.py"
    for file, code in zip(files, CODES, strict=True):
        file.write_text(code)
    monkeypatch.setattr(sys, "path", [str(package.parent), *sys.path])
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    monkeypatch.setattr(bytecode, "MODULES", ("uncompiled.inner", "uncompiled"))
    importlib.invalidate_caches()
    return files


def starts(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return a list that receives the command of each process that is started from now on."""
    found: list[object] = []

    def run(command: list[str], **_: object) -> None:
        found.append(command)

    monkeypatch.setattr(subprocess, "run", run)
    return found


def refuse(*_: object) -> bool:
    """Replaces `os.access`: nothing may be written, even by root."""
    return False


def compiled(files: tuple[Path, ...]) -> list[bool]:
    return [Path(cache_from_source(file)).exists() for file in files]


def test_what_bots_import_is_compiled_once(
    sources: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_bytecode()
    assert compiled(sources) == [True, True]
    assert "uncompiled" not in sys.modules
    found = starts(monkeypatch)
    write_bytecode.cache_clear()
    write_bytecode()
    assert found == []


def test_it_is_written_before_plugins_are_loaded(
    sources: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = starts(monkeypatch)
    assert load_statuses(BOTS, []) == []
    assert len(found) == 1
    assert compiled(sources) == [False, False]


@pytest.mark.parametrize("number", [0, 1])
def test_each_module_counts(sources: tuple[Path, Path], number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    write_bytecode()
    Path(cache_from_source(sources[number])).unlink()
    found = starts(monkeypatch)
    write_bytecode.cache_clear()
    write_bytecode()
    write_bytecode()
    assert len(found) == 1


def test_bytecode_that_cannot_be_written_or_read_is_not_tried(
    sources: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = starts(monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", refuse)
        write_bytecode()
    write_bytecode.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", True)
        write_bytecode()
    write_bytecode.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "pycache_prefix", str(sources[0].parent))
        write_bytecode()
    assert found == []
    write_bytecode.cache_clear()
    write_bytecode()
    assert len(found) == 1


def test_a_failure_stops_nothing(sources: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    site = sources[0].parent.parent
    for name, code in (("leaving", "raise SystemExit(3)\n"), ("broken", "import no_such_module\n")):
        (site / f"{name}.py").write_text(code)
    monkeypatch.setattr(bytecode, "MODULES", ("leaving", "broken", "no_such_module", "sys", "uncompiled"))
    write_bytecode()
    assert compiled((site / "leaving.py", site / "broken.py", *sources)) == [True] * 4
    write_bytecode.cache_clear()
    Path(cache_from_source(sources[0])).unlink()
    monkeypatch.setattr(bytecode, "_MOST_S", 0.0)
    write_bytecode()
    write_bytecode.cache_clear()
    monkeypatch.setattr("arena.own_python.interpreter", lambda: "/no/such/python")
    write_bytecode()


def test_the_modules_exist() -> None:
    for module in MODULES:
        assert find_spec(module) is not None, module


def test_nothing_of_a_bot_is_read_or_written(
    sources: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A seat compiles the environment before its bot starts; the content stays as it was hashed."""
    (bot,) = resolve(["random"], margin_ms=0)
    make_seat(bot, "tic-tac-toe", Tier.T1).close()
    assert compiled(sources) == [True, True]
    assert state_of(bot.place) == bot.state
    assert not list(Path(bot.place).rglob("*.pyc"))
    write_bytecode.cache_clear()
    found = starts(monkeypatch)
    sources[0].with_suffix(".pyc").touch()
    Path(cache_from_source(sources[1])).unlink()
    make_seat(bot, "tic-tac-toe", Tier.T1).close()
    (command,) = found
    assert bot.place not in str(command)
    assert "-P" in str(command)

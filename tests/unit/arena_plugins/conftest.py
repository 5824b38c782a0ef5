"""Plugins for tests: a real third-party distribution, and others that are created by tests."""

from __future__ import annotations

import importlib
import itertools
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Distribute = Callable[..., Path]
    WriteModule = Callable[[str], str]

_numbers = itertools.count()


def _prepend(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    importlib.invalidate_caches()


@pytest.fixture
def third_party(monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put the distribution `misere` on the path; return its folder."""
    folder = Path(__file__).with_name("third_party")
    _prepend(monkeypatch, folder)
    return folder


@pytest.fixture
def write_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WriteModule]:
    """Yield a function that writes an importable module with a new name, and returns the name."""
    folder = tmp_path / "modules"
    folder.mkdir()
    _prepend(monkeypatch, folder)
    before = set(sys.modules)

    def write(source: str) -> str:
        name = f"written_{next(_numbers)}"
        (folder / f"{name}.py").write_text(source)
        importlib.invalidate_caches()
        return name

    yield write
    for name in set(sys.modules) - before:
        if name.startswith("written_"):
            del sys.modules[name]


@pytest.fixture
def distribute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Distribute:
    """Return a function that writes the metadata of a distribution with entry points into a new folder."""

    def write(
        name: str,
        version: str,
        bots: Mapping[str, str] = {},
        games: Mapping[str, str] = {},
    ) -> Path:
        folder = tmp_path / f"site-{next(_numbers)}"
        info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        lines = ["[arena.bots]", *(f"{key} = {value}" for key, value in bots.items())]
        lines += ["[arena.games]", *(f"{key} = {value}" for key, value in games.items())]
        (info / "entry_points.txt").write_text("\n".join(lines))
        _prepend(monkeypatch, folder)
        return folder

    return write

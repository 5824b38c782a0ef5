"""Shelves for tests: an empty one, and one with a wheel that has two bots."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from arena.shelf.install import install
from wheels import BOT, Metadata, make_wheel

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of an empty shelf, which does not exist yet."""
    monkeypatch.setenv("ARENA_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "bots"


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install `left` and `right` of the distribution My_Bots once for all tests; return the folder."""
    folder = tmp_path_factory.mktemp("filled")
    bots = {"left": "my_bots", "right": "my_bots"}
    wheel = make_wheel(folder, "my_bots", bots, {"my_bots.py": BOT}, Metadata(title="My_Bots"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARENA_HOME", str(folder / "home"))
        receipt = install(str(wheel))
    assert receipt.bots == ("left", "right")
    return folder / "home" / "bots"


@pytest.fixture
def my_bots(filled: Path, shelf: Path) -> Path:
    """Return the folder of My_Bots 1.0 on a separate shelf."""
    shutil.copytree(filled, shelf)
    (folder,) = (shelf / "my-bots").iterdir()
    return folder


@pytest.fixture
def old_bots(my_bots: Path) -> Path:
    """Return the folder of My_Bots 1.0 in the place that earlier releases used."""
    for path in my_bots.iterdir():
        path.rename(my_bots.parent / path.name)
    my_bots.rmdir()
    return my_bots.parent

"""The packages of a virtual environment are a part of the bot that its interpreter runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arena.content.collect import Collection
from arena.content.environments import add_environment
from arena.errors import PluginError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def site(tmp_path: Path) -> Path:
    site = tmp_path / "venv" / "lib" / "python3.11" / "site-packages"
    (site / "tool-1.2.dist-info").mkdir(parents=True)
    (tmp_path / "venv" / "pyvenv.cfg").write_text("home = /usr/bin\n")
    (site / "tool-1.2.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: tool\nVersion: 1.2\n")
    (site / "tool-1.2.dist-info" / "RECORD").write_text("tool.py,,\ntool-1.2.dist-info/METADATA,,\n")
    (site / "tool.py").write_text("x = 1\n")
    (site / "own").mkdir()
    (site / "own" / "brain.py").write_text("y = 1\n")
    (site / "own.pth").write_text("/elsewhere\n")
    return site


def needs(site: Path) -> dict[str, str]:
    collection = Collection("exec")
    add_environment(collection, str(site.parents[2] / "bin" / "python"))
    assert collection.files == {}
    return collection.needs


def test_packages_count_by_version_and_other_modules_by_their_bytes(site: Path) -> None:
    found = needs(site)
    assert found.keys() == {"environment tool", "environment own", "environment own.pth"}
    assert found["environment tool"] == "1.2"
    (site / "own" / "__pycache__").mkdir()
    (site / "own" / "__pycache__" / "brain.pyc").write_bytes(b"x")
    # A module that is a file has its compiled form beside it, in the folder of all packages.
    (site / "__pycache__").mkdir()
    (site / "__pycache__" / "tool.pyc").write_bytes(b"x")
    assert needs(site) == found
    (site / "own" / "brain.py").write_text("y = 2\n")
    changed = needs(site)
    assert changed["environment own"] != found["environment own"]
    assert changed["environment own.pth"] == found["environment own.pth"]
    (site / "own" / "brain.py").rename(site / "own" / "mind.py")
    assert needs(site)["environment own"] != changed["environment own"]


def test_quoted_names_and_lists_of_older_installers_are_read(site: Path) -> None:
    record = site / "tool-1.2.dist-info" / "RECORD"
    record.write_text(record.read_text() + '"own, ""brain""/a, b.py",,\n../../../bin/tool,,\n\n')
    (site / 'own, "brain"').mkdir()
    (site / "old-3.egg-info").mkdir()
    (site / "old-3.egg-info" / "PKG-INFO").write_text("Metadata-Version: 1.0\nName: old\nVersion: 3\n")
    (site / "old-3.egg-info" / "SOURCES.txt").write_text("old/__init__.py\n")
    (site / "old").mkdir()
    (site / "old" / "__init__.py").write_text("")
    found = needs(site)
    assert found.keys() == {"environment tool", "environment old", "environment own", "environment own.pth"}
    assert found["environment old"] == "3"


def test_a_module_that_cannot_be_hashed_is_refused(site: Path, tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (site / "own" / "link").symlink_to(tmp_path / "far")
    with pytest.raises(PluginError, match="leads out of"):
        needs(site)


def test_an_interpreter_without_an_environment_adds_nothing(tmp_path: Path) -> None:
    collection = Collection("exec")
    add_environment(collection, str(tmp_path / "bin" / "python"))
    assert collection.needs == {}

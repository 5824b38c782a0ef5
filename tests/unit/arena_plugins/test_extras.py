"""A missing library is named, with the command that installs it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from arena_plugins import PluginError, require_modules

if TYPE_CHECKING:
    from pathlib import Path


def test_modules_that_are_there_are_not_imported() -> None:
    before = set(sys.modules)
    require_modules("my-trainer", "my-bot[train]", "json", "antigravity")
    assert "antigravity" not in set(sys.modules) - before


def test_the_first_missing_module_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "no_such_library").mkdir()
    # A folder without code is no library, whatever its name.
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with pytest.raises(
        PluginError, match=r"^my-trainer needs no_such_library: pip install 'my-bot\[train\]'$"
    ):
        require_modules("my-trainer", "my-bot[train]", "json", "no_such_library", "neither")
    monkeypatch.setitem(sys.modules, "json", None)
    with pytest.raises(PluginError, match="needs json:"):
        require_modules("my-trainer", "my-bot[train]", "json")

"""The names of the contract come from the package; each is loaded at its first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import pytest

import arena_plugins
from children import modules_after

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", arena_plugins.__all__)
def test_every_name_is_there(name: str) -> None:
    value: object = getattr(arena_plugins, name)
    home = str(getattr(value, "__module__", "arena_plugins.hookspecs"))
    if home.startswith("arena_plugins"):
        assert getattr(import_module(home), name) is value
    assert name in dir(arena_plugins)


def test_other_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="module 'arena_plugins' has no attribute 'load_bots'"):
        _ = getattr(arena_plugins, "load_" + "bots")


def test_the_package_alone_loads_nothing(tmp_path: Path) -> None:
    loaded = modules_after("from arena_plugins import Spec", tmp_path)
    assert "arena_plugins.spec" in loaded
    assert loaded.isdisjoint(
        {"numpy", "msgspec", "pluggy", "arena_plugins.manager", "arena_plugins.contract"}
    )

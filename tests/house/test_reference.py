"""Public names are documented: hooks with their arguments and a test each, every name of `__all__`."""

from __future__ import annotations

import ast
import inspect
import re
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import pluggy
import pytest

from arena_plugins import hookspecs
from python_reference import PAGE, exports, public_modules, public_names, render
from source_tree import ROOT, all_sources, room_sources

if TYPE_CHECKING:
    from collections.abc import Callable

REFERENCE = ROOT / "docs" / "reference"


def _hooks() -> dict[str, tuple[str, ...]]:
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    functions = cast(
        "dict[str, Callable[..., Any]]",
        dict(inspect.getmembers(hookspecs, inspect.isfunction)),
    )
    return {
        name: tuple(inspect.signature(function).parameters)
        for name, function in functions.items()
        if hasattr(manager.hook, name)
    }


def test_there_are_hooks() -> None:
    assert {"make_bot", "make_game"} <= set(_hooks())


@pytest.mark.parametrize("hook", sorted(_hooks()))
def test_hook_has_a_test(hook: str) -> None:
    names = {
        node.name
        for source in all_sources()
        if source.path.is_relative_to(ROOT / "tests")
        for node in source.nodes
        if isinstance(node, ast.FunctionDef)
    }
    assert f"test_hook_{hook}" in names


def test_hooks_are_documented_with_their_arguments() -> None:
    text = (REFERENCE / "hooks.md").read_text(encoding="utf-8")
    entries = re.findall(r"^## `(\w+)\(([^)]*)\)", text, flags=re.MULTILINE)
    documented = {name: tuple(re.findall(r"\w+", arguments)) for name, arguments in entries}
    assert documented == _hooks()


def test_public_names_exist_sorted_and_documented() -> None:
    sources = room_sources()
    text = "\n".join(page.read_text(encoding="utf-8") for page in sorted(REFERENCE.rglob("*.md")))
    modules = public_modules(sources)
    assert modules[0] == "arena_plugins"
    for module in modules:
        imported = import_module(module)
        named = exports(sources[module])
        assert named is None or named == sorted(named), module
        for name in public_names(sources, module):
            assert hasattr(imported, name), f"{module}.{name}"
            assert re.search(rf"`{name}\b", text), f"{module}.{name}"


def test_the_python_reference_is_that_of_the_docstrings() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(), "run python tests/support/python_reference.py"

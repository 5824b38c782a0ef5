"""The glossary has every class of the plugin contract, and every name in it exists."""

from __future__ import annotations

import inspect
import re
from importlib.util import find_spec

import arena_plugins
from source_tree import ROOT

PAGE = ROOT / "docs" / "glossary.md"
TERMS, _, INSTEAD = PAGE.read_text(encoding="utf-8").partition("\n## Instead of\n")
ROWS = re.findall(r"^\| ([^|]+) \| ([^|]*)\| ([^|]+) \|$", TERMS, re.MULTILINE)[2:]
"""Term, name in the code, meaning; the first two matches are the head of the table."""


def _in_the_code() -> list[str]:
    return [name for _, code, _ in ROWS for name in re.findall(r"`([\w.]+)`", code)]


def _vocabulary() -> set[str]:
    """Return the classes of the contract; of the errors only the base class."""
    return {
        name
        for name in arena_plugins.__all__
        if inspect.isclass(found := getattr(arena_plugins, name))
        and (found is arena_plugins.ArenaError or not issubclass(found, arena_plugins.ArenaError))
    }


def test_each_class_of_the_contract_has_a_term() -> None:
    assert {"Bot", "Game", "State", "Trainer", "ArenaError"} <= _vocabulary()
    assert _vocabulary() - set(_in_the_code()) == set()


def test_names_in_the_code_exist() -> None:
    named = _in_the_code()
    modules = {name for name in named if "." in name or name.startswith("arena")}
    assert {name for name in modules if find_spec(name) is None} == set()
    assert set(named) - modules <= set(arena_plugins.__all__)


def test_each_term_stands_once_in_order() -> None:
    terms = [term for term, _, _ in ROWS]
    assert len(terms) > len(_vocabulary())
    assert terms == sorted(set(terms))


def test_each_old_phrase_has_a_replacement() -> None:
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", INSTEAD, re.MULTILINE)[2:]
    old = [phrase for phrase, _ in rows]
    assert len(old) == len(set(old)) > 10
    assert all(phrase != replacement for phrase, replacement in rows)

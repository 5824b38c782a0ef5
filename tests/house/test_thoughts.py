"""Remarks of bots have one type, which is copied field by field only where it is checked or stored."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from source_tree import Source, called_name, room_sources

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_FIELDS = {"pv", "nodes", "depth"}
"""Names of fields that occur together only in remarks."""
_TYPES = {
    "arena_plugins.contract.PlayResult": "what a bot returns, unchecked",
    "arena_plugins.wire.Info": "the message of the protocol, unchecked",
    "arena_plugins.thoughts.Thoughts": "the type",
    "arena_db.records.Remark": "a row: the store imports nothing of ours, and keeps values separately",
    "arena_db.remark_codec.RemarkFields": "what the store accepts: a `Remark` or `Thoughts`",
}
"""All types with these fields, and why they are types of their own."""
_COPIES = {
    "arena_plugins.answer": "checks what a bot returns and makes it a message",
    "arena.referee.thoughts": "checks a message and makes it `Thoughts`",
    "arena_db.remark_codec": "decodes a stored row",
}
"""All modules that copy the fields one by one, and why."""


def types_of(sources: Mapping[str, Source]) -> set[str]:
    """Return the classes that declare all of these fields."""
    found: set[str] = set()
    for module, source in sources.items():
        for node in source.nodes:
            if isinstance(node, ast.ClassDef) and {_field(line) for line in node.body} >= _FIELDS:
                found.add(f"{module}.{node.name}")
    return found


def _field(line: ast.stmt) -> str:
    """Return the name of the field that a statement of a class declares; empty if it declares none."""
    if isinstance(line, ast.AnnAssign):
        return ast.unparse(line.target)
    return line.name if isinstance(line, ast.FunctionDef) else ""


def copies_of(sources: Mapping[str, Source]) -> set[str]:
    """Return the modules with a call that has all these fields as keywords; `PlayResult` does not count."""
    return {
        module
        for module, source in sources.items()
        for node in source.nodes
        if isinstance(node, ast.Call) and called_name(node) != "PlayResult"
        if {keyword.arg for keyword in node.keywords} >= _FIELDS
    }


def test_one_type() -> None:
    assert types_of(room_sources()) == set(_TYPES)


def test_no_copies() -> None:
    assert copies_of(room_sources()) == set(_COPIES)


def test_types_and_copies_are_found(tmp_path: Path) -> None:
    text = "class Other:\n pv: int\n nodes: int\n depth: int\nOther(pv=1, nodes=2, depth=3)\nOther(pv=1)"
    (tmp_path / "a.py").write_text(text, encoding="utf-8")
    sources = room_sources({"p": tmp_path})
    assert (types_of(sources), copies_of(sources)) == ({"p.a.Other"}, {"p.a"})

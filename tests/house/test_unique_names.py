"""Each class name and each file name is used once, so that a search finds one place."""

from __future__ import annotations

import ast
from collections import defaultdict
from typing import TYPE_CHECKING

from source_tree import Source, room_sources

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def repeated_classes(sources: Mapping[str, Source]) -> dict[str, list[str]]:
    """Return the modules of each name that several top-level classes have, private ones included.

    Nested classes, such as the messages of a widget, are always named with their owner.
    """
    owners: defaultdict[str, list[str]] = defaultdict(list)
    for module, source in sources.items():
        for node in source.tree.body:
            if isinstance(node, ast.ClassDef):
                owners[node.name].append(module)
    return {name: modules for name, modules in owners.items() if len(modules) > 1}


_SAME_ROLES = {"bot.py", "training.py"}
"""File names that the bundled bots with trainers share: these packages do not know each other, each is read
alone, and the same part of each has the same name."""


def repeated_files(sources: Mapping[str, Source]) -> dict[tuple[str, str], list[str]]:
    """Return the modules of each file name that occurs several times in one of the installed packages."""
    owners: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for module, source in sources.items():
        if source.path.name != "__init__.py":
            owners[module.partition(".")[0], source.path.name].append(module)
    return {key: modules for key, modules in owners.items() if len(modules) > 1}


def test_class_names_are_unique() -> None:
    assert repeated_classes(room_sources()) == {}


def test_repeated_classes_are_found(tmp_path: Path) -> None:
    for name, text in {"a": "class Seat: ...\nclass Bot: ...", "b": "class Seat:\n class Bot: ..."}.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    assert repeated_classes(room_sources({"p": tmp_path})) == {"Seat": ["p.a", "p.b"]}


def test_file_names_are_unique() -> None:
    assert set(repeated_files(room_sources())) == {("arena_bots", name) for name in _SAME_ROLES}


def test_repeated_files_are_found(tmp_path: Path) -> None:
    for path in ("__init__.py", "seats.py", "q/__init__.py", "q/seats.py", "q/other.py"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("", encoding="utf-8")
    assert repeated_files(room_sources({"p": tmp_path})) == {("p", "seats.py"): ["p.q.seats", "p.seats"]}

"""The table of mutations: faults put into the code on purpose, each with the test that must notice it."""

from __future__ import annotations

import ast
import tomllib
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from source_tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

TABLE = ROOT / "tests" / "mutations"
"""The folder with one TOML file for each package or group of packages, with an array `mutation`."""


class Mutation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One fault and the test that must fail because of it."""

    file: str
    """Path of the source file, relative to the root of the repository."""
    old: str
    """Text that occurs exactly once in the file."""
    new: str
    """The faulty text in its place."""
    fault: str
    """What is wrong with `new`, in one phrase."""
    test: str
    """The nearest test: a file, or `file::test_name`."""
    room: str = ""
    """Name of the table's file without its suffix; not a key of an entry."""

    def __str__(self) -> str:
        return f"{self.file}: {self.fault}"


class StaleError(Exception):
    """An entry no longer fits the code; the message says why."""


def read_table(folder: Path = TABLE) -> list[Mutation]:
    """Read all entries, in the order of the files and of the entries in them.

    Raises:
        msgspec.ValidationError: an entry lacks a key, or has another.
    """
    return [
        msgspec.structs.replace(entry, room=path.stem)
        for path in sorted(folder.glob("*.toml"))
        for entry in msgspec.convert(
            tomllib.loads(path.read_text(encoding="utf-8"))["mutation"], list[Mutation]
        )
    ]


def chosen(table: Iterable[Mutation], rooms: Sequence[str], only: str) -> list[Mutation]:
    """Return the entries of the tables `rooms`, all if empty, that contain `only` in file, fault or test."""
    return [
        entry
        for entry in table
        if (not rooms or entry.room in rooms) and any(only in text for text in (str(entry), entry.test))
    ]


def mutated(entry: Mutation, root: Path = ROOT) -> str:
    """Return the text of the file with the fault in it.

    Raises:
        StaleError: the file or the test is gone, the text does not occur exactly once, or the result is
            no Python.
    """
    path = root / entry.file
    if not path.is_file():
        raise StaleError("the file does not exist")
    source = path.read_text(encoding="utf-8")
    if (times := source.count(entry.old)) != 1:
        raise StaleError(f"the text occurs {times} times, not once")
    if entry.old == entry.new:
        raise StaleError("the mutation changes nothing")
    check_test(entry.test, root)
    changed = source.replace(entry.old, entry.new)
    if path.suffix == ".py":
        try:
            ast.parse(changed)
        except SyntaxError as error:
            raise StaleError(f"the mutated file is no Python: {error}") from error
    return changed


def check_test(test: str, root: Path = ROOT) -> None:
    """Check that a test exists.

    Raises:
        StaleError: it does not.
    """
    file, _, name = test.partition("::")
    path = root / file
    if not path.is_file():
        raise StaleError(f"there is no test file {file}")
    if name and name not in _functions_in(path):
        raise StaleError(f"{file} has no test {name}")


@cache
def _functions_in(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(
        node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )

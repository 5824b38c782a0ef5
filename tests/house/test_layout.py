"""Layout of files: folders that are no packages, packages with only a docstring, pins and the version."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path
from typing import Any, cast

import alembic
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from source_tree import ROOMS, ROOT

CONSTRAINTS = ROOT / "constraints.txt"
SILENT = ("arena/arena", "arena/arena/games", "bots/arena_bots")
"""Importing a module below these runs their `__init__`, and import-linter does not count this import."""


def _pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def _pins() -> dict[str, str]:
    lines = CONSTRAINTS.read_text(encoding="utf-8").splitlines()
    found = [line.partition("==") for line in lines if line.strip() and not line.startswith("#")]
    pins = {str(canonicalize_name(name)): version for name, _, version in found}
    assert len(pins) == len(found), "a package is pinned twice"
    return pins


@pytest.mark.parametrize("folder", ["arena", "plugins", "bots", "db", "alembic", "alembic/versions"])
def test_folders_of_rooms_are_no_packages(folder: str) -> None:
    assert (ROOT / folder).is_dir()
    assert not (ROOT / folder / "__init__.py").exists()


def test_test_folders_are_no_packages() -> None:
    assert list((ROOT / "tests").rglob("__init__.py")) == []


def test_alembic_is_the_library() -> None:
    assert not Path(alembic.__file__).is_relative_to(ROOT / "alembic")


@pytest.mark.parametrize("folder", SILENT)
def test_package_is_a_docstring_only(folder: str) -> None:
    tree = ast.parse((ROOT / folder / "__init__.py").read_text(encoding="utf-8"))
    assert ast.get_docstring(tree)
    assert len(tree.body) == 1


@pytest.mark.parametrize("package", sorted(ROOMS))
def test_package_is_typed(package: str) -> None:
    assert (ROOMS[package] / "py.typed").is_file()


def test_every_pin_is_exact_and_without_local_version() -> None:
    for name, version in _pins().items():
        assert re.fullmatch(r"[0-9]+(\.[0-9]+)*(\.post[0-9]+)?", version), name


def test_everything_asked_for_is_pinned_within_its_bounds() -> None:
    project = cast("dict[str, Any]", _pyproject()["project"])
    extras = cast("dict[str, list[str]]", project["optional-dependencies"])
    asked = [
        *cast("list[str]", project["dependencies"]),
        *(line for extra in extras.values() for line in extra),
    ]
    pins = _pins()
    for requirement in map(Requirement, asked):
        if requirement.name != project["name"]:
            pin = pins[str(canonicalize_name(requirement.name))]
            assert requirement.specifier.contains(pin), requirement


def test_torch_is_pinned() -> None:
    assert _pins()["torch"] == "2.13.0"


def test_the_version_stands_in_one_place() -> None:
    version = str(_pyproject()["project"]["version"])
    assignment = re.compile(rf"(?i)version\w*\s*(?::\s*\w+\s*)?=\s*[\"']{re.escape(version)}[\"']")
    files = [path for folder in ROOMS.values() for path in folder.rglob("*.py")]
    assert [path for path in files if assignment.search(path.read_text(encoding="utf-8"))] == []


def test_this_python_is_supported() -> None:
    specifiers = Requirement(f"python{_pyproject()['project']['requires-python']}").specifier
    assert specifiers.contains(".".join(map(str, sys.version_info[:3])))

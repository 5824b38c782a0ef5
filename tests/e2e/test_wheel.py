"""The wheel, built from the sdist: four packages with their data files and nothing else."""

from __future__ import annotations

import configparser
import tarfile
import tomllib
import zipfile
from typing import TYPE_CHECKING, Any, cast

import pytest

from source_tree import ROOMS, ROOT

if TYPE_CHECKING:
    from conftest import Built

TEMPLATE = "arena_plugins/template/"
"""A separate project inside the wheel, with its own tests."""


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return cast("dict[str, Any]", pyproject["project"])


@pytest.fixture(scope="module")
def names(built: Built) -> set[str]:
    with zipfile.ZipFile(built.wheel) as wheel:
        return set(wheel.namelist())


def test_top_level_names(names: set[str], project: dict[str, Any]) -> None:
    dist_info = f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    assert {name.partition("/")[0] for name in names} == {*ROOMS, dist_info}


def test_every_module_and_data_file_is_there(names: set[str]) -> None:
    expected = {
        f"{package}/{path.relative_to(folder).as_posix()}"
        for package, folder in ROOMS.items()
        for path in folder.rglob("*")
        if path.is_file() and path.parent.name != "__pycache__"
    }
    assert expected - names == set()


def test_migrations(names: set[str]) -> None:
    folder = ROOT / "alembic"
    revisions = {f"versions/{path.name}" for path in (folder / "versions").glob("*.py")}
    assert revisions
    shipped = {name.removeprefix("arena_db/migrations/") for name in names if "/migrations/" in name}
    assert shipped == {"env.py", "script.py.mako", *revisions}


def test_typed(names: set[str]) -> None:
    typed = {name for name in names if name.endswith("/py.typed") and not name.startswith(TEMPLATE)}
    assert typed == {f"{room}/py.typed" for room in ROOMS}


def test_template(names: set[str]) -> None:
    folder = ROOT / "plugins" / "template"
    expected = {
        f"{TEMPLATE}{path.relative_to(folder).as_posix()}"
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert f"{TEMPLATE}pyproject.toml" in expected
    assert {name for name in names if name.startswith(TEMPLATE)} == expected


def test_no_tests_and_no_caches(names: set[str]) -> None:
    own = {name for name in names if not name.startswith(TEMPLATE)}
    assert {name for name in own if name.rpartition("/")[2].startswith(("test_", "conftest"))} == set()
    assert {name for name in names if "__pycache__" in name} == set()


def test_entry_points(built: Built, project: dict[str, Any]) -> None:
    parser = configparser.ConfigParser(delimiters=("=",))
    with zipfile.ZipFile(built.wheel) as wheel:
        (path,) = (name for name in wheel.namelist() if name.endswith("dist-info/entry_points.txt"))
        parser.read_string(wheel.read(path).decode("utf-8"))
    found = {section: dict(parser[section]) for section in parser.sections()}
    assert found == {"console_scripts": project["scripts"], **project["entry-points"]}


def test_sdist_holds_what_developers_need(built: Built) -> None:
    with tarfile.open(built.sdist) as sdist:
        inside = {name.partition("/")[2] for name in sdist.getnames()}
    needed = {
        "Makefile",
        "constraints.txt",
        "pyproject.toml",
        "alembic/env.py",
        "tests/house/test_imports.py",
    }
    assert needed - inside == set()

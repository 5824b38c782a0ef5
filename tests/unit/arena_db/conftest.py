"""An empty store, in a file with an awkward name and on a server."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from arena_db.store import Store
from postgres_servers import GIVEN, Databases, PostgresServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_BACKENDS = ("sqlite", "postgresql")
_ON_BOTH = {"test_live", "test_tournaments"}
"""Modules whose tests of a store run on a server, too."""
_FILE_FIXTURES = {"path", "empty"}
"""Who asks for one of these is about files."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests of a store on both backends, unless they are about what only files have."""
    if "backend" in metafunc.fixturenames:
        is_on_both = metafunc.definition.path.stem in _ON_BOTH
        is_of_file = _FILE_FIXTURES & set(metafunc.fixturenames) or any(
            metafunc.definition.iter_markers("sqlite")
        )
        backends = _BACKENDS if is_on_both and not is_of_file else _BACKENDS[:1]
        metafunc.parametrize("backend", backends, scope="session")


@pytest.fixture(scope="session")
def databases() -> Iterator[Databases]:
    """Yield databases of a server: the one that the environment names, else one of this process."""
    server = None if GIVEN else PostgresServer()
    found = Databases(server.url("postgres") if server is not None else GIVEN)
    yield found
    found.close()
    if server is not None:
        server.close()


@pytest.fixture(scope="session")
def template(databases: Databases) -> Iterator[str]:
    """Return the name of a database that is a store without content, to be copied."""
    name = databases.make()
    Store.open(databases.url(name), fast=True).close()
    yield name
    databases.drop(name)


@pytest.fixture
def url(databases: Databases, template: str) -> Iterator[str]:
    """Return the URL of an empty store on a server."""
    name = databases.make(template)
    yield databases.url(name)
    databases.drop(name)


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a store without content, to be copied."""
    path = tmp_path_factory.mktemp("empty") / "arena.db"
    Store.open(path, fast=True).close()
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Give the path of a store that is not there yet."""
    folder = tmp_path / "100%41 über#?"
    folder.mkdir()
    return folder / "arena.db"


@pytest.fixture
def place(backend: str, request: pytest.FixtureRequest) -> str:
    """Return a place of an empty store, in a file or on a server."""
    if backend == "postgresql":
        return request.getfixturevalue("url")
    path: Path = request.getfixturevalue("path")
    shutil.copy(request.getfixturevalue("empty"), path)
    return str(path)


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    """Give an empty store."""
    with Store.open(place, fast=True, busy_ms=5000) as opened:
        yield opened

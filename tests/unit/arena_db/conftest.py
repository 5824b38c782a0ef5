"""Fixtures: an empty store, in a file with an awkward name and on a server.

Every test of a store runs on both. An exception is marked `sqlite` with its reason, a test or a module.
"""

from __future__ import annotations

import os
import shutil
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

import pytest

from arena_db import migrate
from arena_db.backend.places import Server
from arena_db.backend.sqlite.engine import FileSettings, make_migration_engine, writing
from arena_db.store import Store
from postgres_servers import GIVEN, Databases, EmptyStores, PostgresServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_BACKENDS: Final = ("sqlite", "postgresql")
_ALL: Final = bool(os.environ.get("ARENA_TEST_ON_POSTGRES"))
"""Whether all cases of all tests run on a server, too."""
_LONG: Final = {
    "test_three_stores_in_any_order_and_twice",
    "test_random_sequences_equal_a_store_without_the_void_matches",
    "test_round_trip",
    "test_readers_add_what_the_sums_lack",
    "test_at_most_forty_are_kept",
}
"""Tests that take seconds of CPU on a server, where shorter tests cover the same queries."""
_OF_FILES: Final = {"path", "empty"}
"""Fixtures that exist only for stores in files."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test of a store on both backends, unless it is marked as a test of files."""
    marks = list(metafunc.definition.iter_markers("sqlite"))
    if not all(mark.args for mark in marks):
        pytest.fail(f"{metafunc.definition.nodeid}: the marker sqlite needs a reason", pytrace=False)
    if not marks and _OF_FILES & set(metafunc.fixturenames):
        pytest.fail(
            f"{metafunc.definition.nodeid} asks for a file: mark it sqlite(reason), or ask for a place",
            pytrace=False,
        )
    if "backend" in metafunc.fixturenames:
        metafunc.parametrize("backend", _BACKENDS[:1] if marks else _BACKENDS, scope="session")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out the cases that run in files alone.

    Of a test with many cases the first one that a server can run runs there, too, unless the test is a long
    one; all of them would take two minutes of CPU more. `make test-on-postgres` runs all.
    """
    seen: set[str] = set()
    items[:] = [item for item in items if not _is_left_out(item, seen)]


def _is_left_out(item: pytest.Item, seen: set[str]) -> bool:
    call = getattr(item, "callspec", None)
    if call is None or call.params.get("backend") != "postgresql":
        return False
    if item.get_closest_marker("sqlite") is not None:
        return True
    test = item.nodeid.partition("[")[0]
    is_repeated = test in seen
    seen.add(test)
    return not _ALL and (is_repeated or test.rpartition("::")[2] in _LONG)


@pytest.fixture(scope="session")
def databases() -> Iterator[Databases]:
    """Yield databases of a server: the one that the environment names, or one that this process starts."""
    server = None if GIVEN else PostgresServer()
    found = Databases(server.url("postgres") if server is not None else GIVEN)
    yield found
    found.close()
    if server is not None:
        server.close()


@pytest.fixture(scope="session")
def template(databases: Databases) -> Iterator[str]:
    """Yield the name of a database that is a store without content, to be copied."""
    name = databases.make()
    Store.open(databases.url(name), fast=True).close()
    yield name
    databases.drop(name)


@pytest.fixture(scope="session")
def empty_stores(databases: Databases, template: str) -> Iterator[EmptyStores]:
    """Yield a supply of empty stores on a server."""
    found = EmptyStores(databases, template)
    yield found
    found.close()


@pytest.fixture
def url(databases: Databases, empty_stores: EmptyStores) -> Iterator[str]:
    """Yield the URL of an empty store on a server, whatever the backend of the test."""
    name = empty_stores.take()
    yield databases.url(name)
    empty_stores.give_back(name)


@pytest.fixture(scope="session")
def template_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file that is a store without content, to be copied."""
    path = tmp_path_factory.mktemp("empty") / "arena.db"
    Store.open(path, fast=True).close()
    return path


@pytest.fixture
def empty(template_file: Path) -> Path:
    """Return a file that is a store without content, for tests of files."""
    return template_file


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of a store file that does not exist yet."""
    return _awkward(tmp_path)


@pytest.fixture(scope="session")
def of_revision(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return a closed store without content per revision, to be copied; each is made from the one before.

    A test of all revisions that begins with nothing each time would run eight times as many migrations.
    """
    folder = tmp_path_factory.mktemp("revisions")
    last = folder / "last.db"
    settings = FileSettings(place=last)
    found: dict[str, Path] = {}
    for revision in migrate.known_revisions():
        with writing(make_migration_engine(settings), settings) as connection:
            migrate.upgrade(connection, revision)
        found[revision] = folder / f"{revision}.db"
        shutil.copy(last, found[revision])
    return found


class NewPlace(Protocol):
    """Creates stores, in files or on a server."""

    def __call__(self, copy_of: Store | None = None) -> str:
        """Create a store, empty or a copy of one that no transaction uses; return its place."""
        ...


@pytest.fixture
def new_place(backend: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[NewPlace]:
    """Yield a function that creates a store and returns its place."""
    made: list[str] = []
    if backend == "postgresql":
        databases: Databases = request.getfixturevalue("databases")
        empty: EmptyStores = request.getfixturevalue("empty_stores")
        copies: list[str] = []
        yield partial(_new_database, databases, empty, made, copies)
        for name in made:
            empty.give_back(name)
        for name in copies:
            databases.drop(name)
    else:
        yield partial(_new_file, tmp_path, request.getfixturevalue("template_file"), made)


def _new_file(folder: Path, template: Path, made: list[str], copy_of: Store | None = None) -> str:
    path = _awkward(folder / str(len(made)) if made else folder)
    made.append(str(path))
    if copy_of is None:
        shutil.copy(template, path)
    else:
        copy_of.backup(path)
    return made[-1]


def _new_database(
    databases: Databases,
    empty: EmptyStores,
    made: list[str],
    copies: list[str],
    copy_of: Store | None = None,
) -> str:
    if copy_of is None:
        made.append(empty.take())
        return databases.url(made[-1])
    # A database can be copied only while no client is connected to it; the store reconnects by itself.
    copy_of._access.engine.dispose()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - see above
    assert isinstance(copy_of.place, Server)
    copies.append(empty.copy(copy_of.place.database))
    return databases.url(copies[-1])


@pytest.fixture(scope="module")
def module_place(
    backend: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """Yield the place of an empty store that all tests of a module share."""
    if backend == "postgresql":
        databases: Databases = request.getfixturevalue("databases")
        empty: EmptyStores = request.getfixturevalue("empty_stores")
        name = empty.take()
        yield databases.url(name)
        empty.give_back(name)
    else:
        path = _awkward(tmp_path_factory.mktemp("module"))
        shutil.copy(request.getfixturevalue("template_file"), path)
        yield str(path)


@pytest.fixture
def nowhere(backend: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Yield a place without a store, where one can be created."""
    if backend == "postgresql":
        databases: Databases = request.getfixturevalue("databases")
        name = databases.make()
        yield databases.url(name)
        databases.drop(name)
    else:
        yield str(_awkward(tmp_path))


@pytest.fixture
def place(new_place: NewPlace) -> str:
    """Return a place of an empty store, in a file or on a server."""
    return new_place()


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    """Yield an empty store."""
    with Store.open(place, fast=True, busy_ms=5000) as opened:
        yield opened


def _awkward(folder: Path) -> Path:
    found = folder / "100%41 über#?"
    # A test may use both the store and its path.
    found.mkdir(parents=True, exist_ok=True)
    return found / "arena.db"

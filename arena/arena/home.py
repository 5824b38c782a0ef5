"""Where things lie, and the one place of the arena that opens a store."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs
from msgspec import MsgspecError

from arena.errors import ConfigError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from arena_db.backend.places import Place
    from arena_db.store import Store


def home() -> Path:
    """Return the folder of the store, the logs and the runs: `ARENA_HOME`, else the system's for data."""
    return _folder("ARENA_HOME") or platformdirs.user_data_path("arena", appauthor=False)


def cache() -> Path:
    """Return the folder of what can be made again: `ARENA_CACHE`, else the system's for caches."""
    return _folder("ARENA_CACHE") or platformdirs.user_cache_path("arena", appauthor=False)


def user_config() -> Path | None:
    """Return the user's own configuration file, if there is one: `ARENA_CONFIG`, else at the system's place.

    Raises:
        ConfigError: `ARENA_CONFIG` names no file.
    """
    named = _folder("ARENA_CONFIG")
    if named is not None and not named.is_file():
        raise ConfigError(f"ARENA_CONFIG names {named}, which is no file; unset it or write the file")
    usual = named or platformdirs.user_config_path("arena", appauthor=False) / "arena.toml"
    return usual if usual.is_file() else None


def store_place(option: str | None = None) -> Place:
    """Return where the store lies: as given, else `ARENA_DB`, else `arena.db` in `home()`.

    Raises:
        StoreError: what is given is a folder, a URL of another kind of server, or one with a password.
    """
    given = option or os.environ.get("ARENA_DB")
    if not given:
        return home().absolute() / "arena.db"
    with store_errors():
        from arena_db.backend.places import find_place

        return find_place(given if "://" in given else Path(given).expanduser())


def store_file(option: str | None = None) -> Path | None:
    """Return the file of the store; None where it lies on a server.

    Raises:
        StoreError: as `store_place`.
    """
    place = store_place(option)
    return place if isinstance(place, Path) else None


def store_argument(option: str | None = None) -> str:
    """Return what another process is given as `--db` to open the same store.

    Raises:
        StoreError: as `store_place`.
    """
    place = store_place(option)
    return str(place) if isinstance(place, Path) else place.url


def has_store(option: str | None = None) -> bool:
    """Say whether there is a store; where there is none, something that is played makes it.

    Raises:
        StoreError: as `store_place`; or the server cannot be asked.
        ConfigError: it is given by a path whose folder is not there.
    """
    path = store_place(option)
    if not isinstance(path, Path):
        with store_errors():
            from arena_db.backend.choice import is_there

            return is_there(path)
    if path.exists():
        return True
    if path.parent != home().absolute() and not path.parent.is_dir():
        raise ConfigError(f"there is no folder {path.parent} for a store; make it, or give another --db")
    return False


def removed_file(option: str | None, name: str) -> Path:
    """Return the file that a tournament is moved to: beside the store, or here where that is a server's."""
    file = store_file(option)
    folder = Path() if file is None else file.parent
    return (folder / f"{name}.removed.db").absolute()


@contextmanager
def open_store(
    option: str | None = None,
    *,
    read_only: bool = False,
    fast: bool = False,
    create: bool = True,
    busy_ms: int = 30_000,
) -> Generator[Store]:
    """Open the store for a `with` block, within which every error of it is a StoreError.

    Args:
        option: path, `sqlite:///path` or `postgresql://USER@HOST/DB`; None for the usual place, whose folder
            is made when needed.
        read_only: never write; an older store is then refused, not upgraded.
        fast: faster commits, the last of which a power cut may lose.
        create: make the store where there is none.
        busy_ms: milliseconds to wait for another process that has it locked.

    Raises:
        StoreError: it is missing, damaged, foreign, newer, locked, or no place for a store.
    """
    place = store_place(option)
    with store_errors():
        from arena_db.store import Store

        if create and not read_only:
            _make_usual_folder(place)
        opened = Store.open(place, read_only=read_only, fast=fast, create=create, busy_ms=busy_ms)
        with opened as store, damage_told(store):
            yield store


@contextmanager
def damage_told(store: Store, find_faults: Callable[[], list[str]] | None = None) -> Generator[None]:
    """Raise a StoreError in place of what Python raises where a value of a damaged store makes no sense.

    A damaged page may hold any text in the place of an outcome, a configuration or a game. The store is
    checked before it is blamed: an error of ours in a store that is in order stays what it is.

    Args:
        store: what is read.
        find_faults: checks it, for callers that must not do so each time; None for a whole check.

    Raises:
        StoreError: the store is damaged.
    """
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, MsgspecError) as error:
        with store_errors():
            faults = (find_faults or store.check)()
        if not faults:
            raise
        raise StoreError(
            f"{store.place} is damaged: {faults[0]}; `arena db check` shows more, `arena db restore` puts a "
            "backup in its place"
        ) from error


def restore_store(backup: Path, option: str | None = None) -> Path | None:
    """Put a copy of a backup in the place of the store.

    Args:
        backup: the file it is in.
        option: path or `sqlite:///path` of the store; None for the usual place, made when needed.

    Returns:
        Where the old store lies now, with its log and its waiting results beside it; None where there was
        none.

    Raises:
        StoreError: the backup is missing, foreign, newer, damaged or the store itself, or the store is in
            use, foreign or newer; then all is as before.
    """
    place = store_place(option)
    with store_errors():
        from arena_db.store import Store

        _make_usual_folder(place)
        return Store.restore(backup, place)


@contextmanager
def store_errors() -> Generator[None]:
    """Raise a StoreError in place of every error of the store, with the same text."""
    from arena_db.errors import DatabaseError

    try:
        yield
    except DatabaseError as error:
        raise StoreError(str(error)) from error


def _folder(variable: str) -> Path | None:
    value = os.environ.get(variable)
    return Path(value).expanduser() if value else None


def _make_usual_folder(place: Place) -> None:
    if not isinstance(place, Path):
        return
    folder = place.parent
    if folder != home().absolute():
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"cannot make {folder} ({error.strerror}); set ARENA_HOME, or give --db FILE"
        ) from error

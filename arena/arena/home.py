"""Locations of files, and the only place in the arena that opens a store."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import platformdirs
from msgspec import MsgspecError

from arena.errors import ConfigError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from arena_db.backend.places import Place
    from arena_db.store import Store

_TOLD_MS: Final = 1_500
"""Milliseconds of waiting for a locked store after which the user is told."""


def home() -> Path:
    """Return the folder of the store, logs and runs: `ARENA_HOME`, else the system's data folder."""
    return _folder("ARENA_HOME") or platformdirs.user_data_path("arena", appauthor=False)


def cache() -> Path:
    """Return the folder for files that can be recreated: `ARENA_CACHE`, else the system's cache folder."""
    return _folder("ARENA_CACHE") or platformdirs.user_cache_path("arena", appauthor=False)


def user_config() -> Path | None:
    """Return the user's configuration file, if it exists: `ARENA_CONFIG`, else the system's location.

    Raises:
        ConfigError: `ARENA_CONFIG` does not name a file.
    """
    named = _folder("ARENA_CONFIG")
    if named is not None and not named.is_file():
        raise ConfigError(f"ARENA_CONFIG names {named}, which is not a file; unset it or create the file")
    usual = named or platformdirs.user_config_path("arena", appauthor=False) / "arena.toml"
    return usual if usual.is_file() else None


def store_place(option: str | None = None) -> Place:
    """Return the place of the store: the given one, else `ARENA_DB`, else `arena.db` in `home()`.

    Raises:
        StoreError: the place is a folder, a URL of an unsupported server, or a URL with a password.
    """
    given = option or os.environ.get("ARENA_DB")
    if not given:
        return home().absolute() / "arena.db"
    with store_errors():
        from arena_db.backend.places import find_place

        return find_place(given if "://" in given else Path(given).expanduser())


def store_file(option: str | None = None) -> Path | None:
    """Return the file of the store; None if it is on a server.

    Raises:
        StoreError: as `store_place`.
    """
    place = store_place(option)
    return place if isinstance(place, Path) else None


def store_argument(option: str | None = None) -> str:
    """Return the value of `--db` with which another process opens the same store.

    Raises:
        StoreError: as `store_place`.
    """
    place = store_place(option)
    return str(place) if isinstance(place, Path) else place.url


def has_store(option: str | None = None) -> bool:
    """Return whether there is a store; the first tournament creates it.

    Raises:
        StoreError: as `store_place`, or the server does not answer.
        ConfigError: the folder of its path does not exist.
    """
    path = store_place(option)
    if not isinstance(path, Path):
        with store_errors():
            from arena_db.backend.choice import is_there

            return is_there(path)
    if path.exists():
        return True
    if path.parent != home().absolute() and not path.parent.is_dir():
        raise ConfigError(f"there is no folder {path.parent} for a store; create it, or use another --db")
    return False


def removed_file(option: str | None, name: str) -> Path:
    """Return the file to which a tournament is moved: beside the store, or here if that is on a server."""
    file = store_file(option)
    folder = Path() if file is None else file.parent
    return (folder / f"{name}.removed.db").absolute()


def cold_folder(option: str | None) -> Path:
    """Return the folder for matches in files: beside the store, or in `home()` if that is on a server."""
    file = store_file(option)
    return home().absolute() / "cold" if file is None else file.with_name(f"{file.name}-cold").absolute()


@contextmanager
def open_store(
    option: str | None = None,
    *,
    read_only: bool = False,
    fast: bool = False,
    create: bool = True,
    busy_ms: int = 30_000,
) -> Generator[Store]:
    """Open the store for a `with` block, in which all its errors are raised as StoreError.

    Args:
        option: path, `sqlite:///path` or `postgresql://USER@HOST/DB`; None for the default, whose folder is
            created if needed.
        read_only: never write; an older store is then rejected instead of upgraded.
        fast: faster commits; a power failure may lose the last ones.
        create: create the store if it does not exist.
        busy_ms: milliseconds to wait for another process that has locked it.

    Raises:
        StoreError: the store is missing, damaged, foreign, newer or locked, or its place cannot hold one.
    """
    place = store_place(option)
    with store_errors():
        from arena_db.store import Store

        if create and not read_only:
            _make_usual_folder(place)
        with _wait_told(place, busy_ms):
            opened = Store.open(place, read_only=read_only, fast=fast, create=create, busy_ms=busy_ms)
        with opened as store, damage_told(store):
            yield store


@contextmanager
def _wait_told(place: Place, busy_ms: int) -> Generator[None]:
    """Warn if a `with` block that opens a store takes long because another process has locked it."""
    if busy_ms <= _TOLD_MS:
        yield
        return
    from threading import Timer

    timer = Timer(_TOLD_MS / 1000, _warn_if_locked, (place, busy_ms // 1000))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def _warn_if_locked(place: Place, wait_s: int) -> None:
    import logging

    from arena_db.errors import DatabaseError, LockedError
    from arena_db.store import Store

    try:
        # Opening may also take long because an old store is upgraded.
        Store.open(place, read_only=True, create=False, busy_ms=100).close()
    except LockedError:
        logging.getLogger(__name__).warning(
            "%s is locked by another process; waiting up to %d s for it", place, wait_s
        )
    except DatabaseError:
        # The caller gets the same error.
        return


@contextmanager
def damage_told(store: Store, find_faults: Callable[[], list[str]] | None = None) -> Generator[None]:
    """Raise a StoreError in place of the Python errors that implausible values of a damaged store cause.

    A damaged page may contain any text in place of an outcome, a configuration or a game. The store is
    checked first, so that an error caused by a bug in the Arena propagates unchanged.

    Args:
        store: the store that is read.
        find_faults: a function that checks the store, for callers that cannot afford a full check each time;
            None for a full check.

    Raises:
        StoreError: the store is damaged.
    """
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, MsgspecError) as error:
        with store_errors():
            faults = (find_faults or store.integrity.check)()
        if not faults:
            raise
        raise StoreError(
            f"{store.place} is damaged: {faults[0]}; run `arena db check` for details or `arena db restore` "
            "to put a backup in its place"
        ) from error


def restore_store(backup: Path, option: str | None = None) -> Path | None:
    """Replace the store by a copy of a backup.

    Args:
        backup: file of the backup.
        option: path or `sqlite:///path` of the store; None for the default, which is created if needed.

    Returns:
        The new path of the old store, with its log and its pending results beside it; None if there was no
        store.

    Raises:
        StoreError: the backup is missing, foreign, newer, damaged or the store itself, or the store is in
            use, foreign or newer; nothing is changed then.
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
            f"cannot create {folder} ({error.strerror}); set ARENA_HOME, or use --db FILE"
        ) from error

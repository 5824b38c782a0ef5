"""Chooses the backend of a store by its place."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from arena_db.backend.settings import StoreSettings
from arena_db.backend.sqlite import opening
from arena_db.backend.sqlite.database import SqliteBackend
from arena_db.backend.sqlite.engine import FileSettings
from arena_db.errors import UnsupportedError

if TYPE_CHECKING:
    from types import ModuleType

    from arena_db.backend.places import Place, Server
    from arena_db.backend.protocol import Backend


def settings_of(
    place: Place, *, read_only: bool = False, fast: bool = False, busy_ms: int = 30_000
) -> StoreSettings:
    """Return the settings with which a store at a place is opened."""
    if isinstance(place, Path):
        return FileSettings(place=place, read_only=read_only, fast=fast, busy_ms=busy_ms)
    return StoreSettings(place=place, read_only=read_only, fast=fast, busy_ms=busy_ms)


def prepare(settings: StoreSettings, *, create: bool) -> None:
    """Create or upgrade a store, so that it has the current revision.

    Raises:
        DatabaseError: it cannot be used; the subclass says why.
    """
    if isinstance(settings, FileSettings):
        opening.prepare(settings, create=create)
    else:
        _postgres().prepare(settings, create=create)


def backend_of(settings: StoreSettings) -> Backend:
    """Return the backend of a prepared store.

    Raises:
        UnsupportedError: the store is on a server, and the driver is missing.
    """
    if isinstance(settings, FileSettings):
        return SqliteBackend(settings)
    return _postgres().PostgresBackend(settings)


def is_there(server: Server) -> bool:
    """Return whether there is a store on a server.

    Raises:
        DatabaseError: the server cannot be reached, or the driver is missing.
    """
    return _postgres().is_there(server)


def _postgres() -> ModuleType:
    # Imported here: driver and dialect take 20 MB and 0.2 s, which only stores on a server need.
    try:
        from arena_db.backend import postgres
    except ImportError as error:
        raise UnsupportedError(
            "a store on a PostgreSQL server needs psycopg; install it: pip install 'bot-arena[postgres]'"
        ) from error
    return postgres

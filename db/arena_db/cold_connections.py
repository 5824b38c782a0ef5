"""Keeps connections on which cold tournaments are loaded, a few at a time."""

from __future__ import annotations

from contextlib import contextmanager
from threading import Lock, RLock
from typing import TYPE_CHECKING, Final

from arena_db.cold.thawing import load

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from sqlalchemy import Connection

    from arena_db.backend.protocol import Backend
    from arena_db.cold.thawing import ColdTournament

_MOST: Final = 4
"""Cold tournaments that stay loaded; each takes the size of its rows, most of it on the disk."""


class _Loaded:
    """A connection on which a cold tournament is loaded, for one thread at a time."""

    def __init__(self) -> None:
        self.lock = RLock()
        self.connection: Connection | None = None


class OpenedTournaments:
    """The cold tournaments that readers of a store have asked for."""

    def __init__(self, backend: Backend) -> None:
        """Load nothing yet."""
        self._backend = backend
        self._lock = Lock()
        self._loaded: dict[tuple[int, bytes], _Loaded] = {}

    @contextmanager
    def reading(self, cold: ColdTournament, is_wanted: Callable[[], bool] | None) -> Generator[Connection]:
        """Yield a connection on which a cold tournament looks stored; it is loaded by the first reader.

        Raises:
            DamagedError: its files are missing or damaged.
            UnsupportedError: pyarrow is not installed.
        """
        key = (cold.id, cold.manifest_hash)
        with self._lock:
            # The newest comes last.
            found = self._loaded.pop(key, None) or _Loaded()
            self._loaded[key] = found
            oldest = [self._loaded.pop(other) for other in list(self._loaded)[:-_MOST]]
        for each in oldest:
            _close(each)
        with found.lock:
            if found.connection is None:
                found.connection = self._load(cold)
            with self._backend.reading(is_wanted, found.connection) as connection:
                yield connection

    def is_loaded(self, cold: ColdTournament) -> bool:
        """Return whether reading a cold tournament takes no time."""
        return (cold.id, cold.manifest_hash) in self._loaded

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            loaded = list(self._loaded.values())
            self._loaded.clear()
        for each in loaded:
            _close(each)

    def _load(self, cold: ColdTournament) -> Connection:
        connection = self._backend.engine.connect()
        try:
            load(connection, cold)
            connection.commit()
        except BaseException:
            _discard(connection)
            raise
        return connection


def _close(loaded: _Loaded) -> None:
    with loaded.lock:
        if loaded.connection is not None:
            _discard(loaded.connection)
            loaded.connection = None


def _discard(connection: Connection) -> None:
    """Close a connection for good: back in the pool, its temporary tables would hide the stored ones."""
    connection.invalidate()
    connection.close()

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
"""Maximum number of cold tournaments that stay loaded; each occupies the size of its rows, mostly on the
disk."""


class _Loaded:
    """A connection on which a cold tournament is loaded, for one thread at a time."""

    def __init__(self) -> None:
        self.lock = RLock()
        self.connection: Connection | None = None
        self.is_closed = False
        """Whether it was closed for good; only entries that are not may load a tournament."""


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
        while True:
            found = self._entry(cold)
            with found.lock:
                # Others may have displaced it while this thread waited for the lock. Loaded again, it would
                # never be closed, and would return to the pool with its temporary tables.
                if found.is_closed:
                    continue
                if found.connection is None:
                    found.connection = self._load(cold)
                with self._backend.reading(is_wanted, found.connection) as connection:
                    yield connection
                return

    def _entry(self, cold: ColdTournament) -> _Loaded:
        """Return the entry of a cold tournament as the newest, and close those that are too many."""
        key = (cold.id, cold.manifest_hash)
        with self._lock:
            # The newest comes last.
            found = self._loaded.pop(key, None) or _Loaded()
            self._loaded[key] = found
            oldest = [self._loaded.pop(other) for other in list(self._loaded)[:-_MOST]]
        # Without the lock, because closing waits for the readers of those tournaments.
        for each in oldest:
            _close(each)
        return found

    def is_loaded(self, cold: ColdTournament) -> bool:
        """Return whether a cold tournament is loaded, so that it can be read at once."""
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
        loaded.is_closed = True
        if loaded.connection is not None:
            _discard(loaded.connection)
            loaded.connection = None


def _discard(connection: Connection) -> None:
    """Close a connection for good: back in the pool, its temporary tables would hide the stored ones."""
    connection.invalidate()
    connection.close()

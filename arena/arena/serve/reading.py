"""Read-only access to the store for one answer."""

from __future__ import annotations

import time
from contextlib import ExitStack, contextmanager
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Final

from arena.errors import NotFoundError, StoreError
from arena.home import damage_told, open_store, store_errors
from arena.live.labels import MAX_NAME
from arena.pages.links import Links, slugs_of
from arena.watching.query import BUSY_MS, Query
from arena_plugins.spec import nearest
from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Generator

    from arena.serve.server_options import ServeSettings
    from arena_db.records import TournamentRecord
    from arena_db.store import Store

_MOST_EVENTS: Final = 1_000_000
"""Limit on the tournaments that are read for slugs; far more than a store has."""
_CHECK_S: Final = 60.0
"""Minimum seconds between two checks of a store after handlers failed on damaged data."""


class Reading:
    """The store as one handler sees it; closed when the handler returns."""

    def __init__(self, store: Store, query: Query) -> None:
        """Wrap an open store, and the query that can cancel its operations."""
        self.store = store
        """The store, opened read-only."""
        self.query = query
        """The query for functions of `arena.watching` that require one; its `store()` opens another
        connection."""

    @cached_property
    def links(self) -> Links:
        """Addresses of the pages of this server."""
        # Live views name a tournament by its cleaned name.
        shown = {clean_text(name, MAX_NAME): slug for name, slug in self.slugs.items()}
        return Links(root="/", suffix="", index="", slugs=shown | self.slugs)

    @cached_property
    def slugs(self) -> dict[str, str]:
        """Slugs of tournaments in addresses, by name."""
        return slugs_of({record.name: record.uid for record in self._records})

    @cached_property
    def _records(self) -> list[TournamentRecord]:
        return self.store.tournaments.newest(limit=_MOST_EVENTS)

    def tournament(self, slug: str) -> TournamentRecord:
        """Return the tournament with this slug: its name, or its uid if the name cannot be a slug.

        Raises:
            NotFoundError: there is no such tournament; the message names the closest one.
        """
        found = self.store.tournaments.find(slug)
        if found is None:
            found = next((record for record in self._records if record.uid == slug), None)
        if found is None:
            raise NotFoundError(
                f'there is no tournament "{slug}"{nearest(slug, [record.name for record in self._records])}'
            )
        return found


class _Opened:
    """An open store shared by several answers."""

    def __init__(self, store: Store, end: ExitStack) -> None:
        self.store = store
        self._end = end
        self._lock = Lock()
        self._num_users = 0
        self._is_given_up = False
        self._checking = Lock()
        self._checked: tuple[int, float] | None = None
        self._faults: list[str] = []

    def enter(self) -> None:
        """Count one more user."""
        with self._lock:
            self._num_users += 1

    def leave(self) -> None:
        """Count one user fewer; the last one closes a store that is to be closed."""
        with self._lock:
            self._num_users -= 1
        self._close_unused()

    def find_faults(self) -> list[str]:
        """Return the faults of the store, as of the last check.

        Since a check reads the whole store, it is repeated only when the store has changed and `_CHECK_S`
        have passed.
        """
        # One thread checks, which takes seconds for a large store; others wait for its result.
        with self._checking:
            version, now = self.store.data_version(), time.monotonic()
            known = self._checked
            if known is None or (known[0] != version and now - known[1] >= _CHECK_S):
                self._faults = self.store.integrity.check()
                self._checked = version, time.monotonic()
            return self._faults

    def give_up(self) -> None:
        """Close the store as soon as it has no users."""
        self._is_given_up = True
        self._close_unused()

    def _close_unused(self) -> None:
        with self._lock:
            is_due = self._is_given_up and not self._num_users
            # Exchanged under the lock, so that only one thread closes the store; closed without the lock.
            end, self._end = (self._end, ExitStack()) if is_due else (ExitStack(), self._end)
        end.close()


class Readers:
    """Opens the store for answers, which share one connection.

    Opening takes 10 ms; checking whether the file was moved takes some microseconds.
    """

    def __init__(self, settings: ServeSettings) -> None:
        """Create the object; nothing is opened yet."""
        self._option = settings.db
        self._lock = Lock()
        self._opened: _Opened | None = None

    @contextmanager
    def reading(self) -> Generator[Reading]:
        """Read the store in a `with` block.

        Raises:
            StoreError: the store is gone, locked, damaged or newer; the error says which.
        """
        query = Query(self._option)
        with self._store(query) as store:
            yield Reading(store, query)

    @contextmanager
    def _store(self, query: Query) -> Generator[Store]:
        opened: _Opened | None = None
        try:
            with store_errors():
                opened = self._enter()
                try:
                    with damage_told(opened.store, opened.find_faults):
                        yield opened.store
                finally:
                    opened.leave()
        except StoreError as error:
            # Whatever the error was, the next answer reopens the file, which may have been replaced.
            self._forget(opened)
            raise query.told(error) from error.__cause__

    def _enter(self) -> _Opened:
        """Return the shared store; open it if it is not open or if the file was replaced."""
        from arena_db.errors import DatabaseError

        with self._lock:
            if self._opened is not None:
                try:
                    self._opened.store.check_readable()
                except DatabaseError:
                    self._opened.give_up()
                    self._opened = None
            if self._opened is None:
                end = ExitStack()
                opening = open_store(self._option, read_only=True, create=False, busy_ms=BUSY_MS)
                self._opened = _Opened(end.enter_context(opening), end)
            # Counted before the lock is released, so that another answer cannot close it meanwhile.
            self._opened.enter()
            return self._opened

    def _forget(self, opened: _Opened | None) -> None:
        with self._lock:
            if opened is not None and opened is self._opened:
                self._opened = None
        if opened is not None:
            opened.give_up()

    def close(self) -> None:
        """Close the store as soon as no answer uses it."""
        self._forget(self._opened)

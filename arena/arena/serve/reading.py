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

    from arena.serve.settings import ServeSettings
    from arena_db.records import TournamentRecord
    from arena_db.store import Store

_MOST_EVENTS: Final = 1_000_000
_CHECK_S: Final = 60.0
"""Seconds between two checks of a store that a handler stumbled over."""


class Reading:
    """The store as one handler sees it; closed when the handler returns."""

    def __init__(self, store: Store, query: Query) -> None:
        """Keep an open store, and the query that cancels what is done with it."""
        self.store = store
        """Open to read only."""
        self.query = query
        """For sources of `watching` that take a query; its `store()` opens another connection."""

    @cached_property
    def links(self) -> Links:
        """Return the addresses of pages of this server."""
        # Views of what is played call a tournament by its cleaned name.
        shown = {clean_text(name, MAX_NAME): slug for name, slug in self.slugs.items()}
        return Links(root="/", suffix="", index="", slugs=shown | self.slugs)

    @cached_property
    def slugs(self) -> dict[str, str]:
        """Return what tournaments are called in addresses, by name."""
        return slugs_of({record.name: record.uid for record in self._records})

    @cached_property
    def _records(self) -> list[TournamentRecord]:
        return self.store.tournaments(limit=_MOST_EVENTS)

    def tournament(self, slug: str) -> TournamentRecord:
        """Return the tournament that an address names: by its name, or by its uid where the name is no slug.

        Raises:
            NotFoundError: there is none; names the nearest.
        """
        found = self.store.tournament(slug)
        if found is None:
            found = next((record for record in self._records if record.uid == slug), None)
        if found is None:
            raise NotFoundError(
                f'there is no tournament "{slug}"{nearest(slug, [record.name for record in self._records])}'
            )
        return found


class _Opened:
    """A store that several answers read at the same time."""

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
        """Count one more answer."""
        with self._lock:
            self._num_users += 1

    def leave(self) -> None:
        """Count one answer less; the last one closes a store that was given up."""
        with self._lock:
            self._num_users -= 1
        self._close_unused()

    def find_faults(self) -> list[str]:
        """Return what is wrong with the store, as of the last check.

        A fault of a page must not make each request of it read the whole store: it is checked anew only when
        it has changed, and not before `_CHECK_S` have passed.
        """
        with self._checking:
            version, now = self.store.data_version(), time.monotonic()
            known = self._checked
            if known is None or (known[0] != version and now - known[1] >= _CHECK_S):
                self._faults = self.store.check()
                self._checked = version, time.monotonic()
            return self._faults

    def give_up(self) -> None:
        """Close the store once nobody reads it any more."""
        self._is_given_up = True
        self._close_unused()

    def _close_unused(self) -> None:
        with self._lock:
            is_due = self._is_given_up and not self._num_users
            end, self._end = (self._end, ExitStack()) if is_due else (ExitStack(), self._end)
        end.close()


class Readers:
    """Opens the store for answers, which share one.

    Opening takes 10 ms, looking whether the file was moved some microseconds.
    """

    def __init__(self, settings: ServeSettings) -> None:
        """Open nothing yet."""
        self._option = settings.db
        self._lock = Lock()
        self._opened: _Opened | None = None

    @contextmanager
    def reading(self) -> Generator[Reading]:
        """Read the store in a `with` block.

        Raises:
            StoreError: it is gone, locked, damaged or newer; the text says so, never that it is empty.
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
            # Whatever it was, the next answer opens the file anew: it may be another one by then.
            self._forget(opened)
            raise query.told(error) from error.__cause__

    def _enter(self) -> _Opened:
        """Return the shared store, opened if it is not or if the file is another one now."""
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
            self._opened.enter()
            return self._opened

    def _forget(self, opened: _Opened | None) -> None:
        with self._lock:
            if opened is not None and opened is self._opened:
                self._opened = None
        if opened is not None:
            opened.give_up()

    def close(self) -> None:
        """Close what is open, once the answers that are being made are made."""
        self._forget(self._opened)

"""The feed of an empty store: it waits for the first tournament."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

import msgspec

from arena.errors import ArenaError
from arena.home import has_store, store_errors, store_place
from arena.watching.feed import FeedUpdate, Health
from arena.watching.query import Query

if TYPE_CHECKING:
    from arena_db.store import Store

_LOOK_S: Final = 1.0
FIRST: Final = "first"
"""Name of the fact that this feed publishes."""


class First(msgspec.Struct, frozen=True):
    """The fact that `FirstFeed` publishes: an empty store has its first tournament."""

    tournament: int
    """Id of the tournament."""
    name: str


class FirstFeed:
    """Polls once a second for a tournament, and ends when there is one."""

    def __init__(self, option: str | None, *, is_read_only: bool = False) -> None:
        """Prepare to poll a store: a path, or None for the default."""
        self._option = option
        self._query = Query(option)
        self._is_read_only = is_read_only
        self._stack = ExitStack()
        self._store: Store | None = None
        self._version: int | None = None
        self._has_said = False

    @property
    def interval(self) -> float:
        """Seconds to wait before the next `poll`."""
        return _LOOK_S

    def poll(self) -> FeedUpdate | None:
        """Return the store's name in the first batch, and the first tournament in the last one.

        Raises:
            Cancelled: `cancel` was called.
            StoreError: the store cannot be read.
        """
        self._query.check()
        if not self._has_said:
            self._has_said = True
            name = store_place(self._option).name
            return FeedUpdate(health=Health(store=name, is_read_only=self._is_read_only))
        if self._store is None and not has_store(self._option):
            return None
        try:
            with store_errors():
                return self._poll()
        except ArenaError as error:
            self.close()
            raise self._query.told(error) from error.__cause__

    def cancel(self) -> None:
        """Abort the current `poll` and all later ones; may be called from any thread."""
        self._query.cancel()

    def close(self) -> None:
        """Close the store."""
        self._store, self._version = None, None
        self._stack.close()

    def _poll(self) -> FeedUpdate | None:
        if self._store is None:
            self._store = self._stack.enter_context(self._query.store())
        self._store.check_readable()
        version = self._store.data_version()
        if version == self._version:
            return None
        self._version = version
        record = self._store.tournaments.last(unfinished=False)
        return (
            None if record is None else FeedUpdate(facts={FIRST: First(record.id, record.name)}, is_last=True)
        )

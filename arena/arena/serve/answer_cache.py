"""A cache of answers that are valid until the store changes: pages, twins and answers of the API."""

from __future__ import annotations

import time
from collections import OrderedDict
from contextlib import ExitStack
from threading import Lock
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

from arena.errors import ArenaError
from arena.home import open_store, store_errors, store_file
from arena.watching.query import BUSY_MS

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from arena.serve.reading import Reading
    from arena.serve.request_context import Serving
    from arena.serve.sending import Whole
    from arena_db.store import Store

    Version: TypeAlias = tuple[int, int]
    Key: TypeAlias = tuple[str, ...]

_MOST_KEPT: Final = 512
"""Maximum number of cached answers."""
_MOST_BYTES: Final = 8 << 20
"""Maximum size of the cache in bytes; answers are stored compressed if that makes them smaller."""


class StoreVersion:
    """Detects changes of the store without reading it: SQLite counts the commits of other connections.

    The count belongs to one connection, which is therefore kept open. If the store's file was replaced, it is
    opened again.
    """

    def __init__(self, serving: Serving) -> None:
        """Create the object; nothing is opened yet."""
        self._option = serving.settings.db
        self._lock = Lock()
        self._stack = ExitStack()
        self._store: Store | None = None
        self._file: tuple[int, int] | None = (0, 0)
        self._num_opened = 0

    def now(self) -> Version | None:
        """Return a value that differs after every change of the store; None if the store cannot be read."""
        with self._lock:
            try:
                return self._look()
            except (ArenaError, OSError):
                self._forget()
                return None

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._forget()

    def _look(self) -> Version:
        file = store_file(self._option)
        found = None if file is None else file.stat()
        # Device and inode: a restored or moved store keeps its path, and its count of commits starts again.
        identity = None if found is None else (found.st_dev, found.st_ino)
        if self._store is None or identity != self._file:
            self._forget()
            opened = open_store(self._option, read_only=True, create=False, busy_ms=BUSY_MS)
            self._store = self._stack.enter_context(opened)
            self._file = identity
            self._num_opened += 1
        with store_errors():
            # The number of openings is part of it, since the count of another connection may be equal by
            # chance.
            return self._num_opened, self._store.data_version()

    def _forget(self) -> None:
        self._store = None
        self._stack.close()


class _CacheEntry:
    """A cached answer, and the version of the store it was made from."""

    __slots__ = ("size", "until", "version", "whole")

    def __init__(self, key: Key, version: Version, whole: Whole, until: float) -> None:
        self.version = version
        self.whole = whole
        self.until = until
        self.size = whole.packed_size + sum(map(len, key))


class _Making:
    """An answer that one request is making while others may wait for it."""

    def __init__(self, number: int, version: Version) -> None:
        self.number = number
        self.version = version
        self.done = anyio.Event()
        self.whole: Whole | None = None
        self.error: Exception | None = None


class AnswerCache:
    """A cache of the most recently used answers, each with the version of the store it was made from.

    One request at a time makes an answer; other requests for it wait. Only the event loop may use the cache.
    """

    def __init__(self, serving: Serving) -> None:
        """Create an empty cache."""
        self._serving = serving
        # A limit of its own: asking for the version takes microseconds and must not wait for threads that
        # make pages.
        self._looking = anyio.CapacityLimiter(2)
        self._kept: OrderedDict[Key, _CacheEntry] = OrderedDict()
        self._making: dict[Key, _Making] = {}
        self._num_made = 0
        self._size = 0

    async def answer(self, key: Key, kept_s: float, make: Callable[[Reading], Whole]) -> Whole:
        """Return an answer from the cache, or make it.

        Args:
            key: everything that the answer depends on besides the store.
            kept_s: seconds after which it is made again although the store has not changed.
            make: makes the answer from the store, in a thread; an answer that `is_moving` is not cached.

        Raises:
            ArenaError: raised by `make`; requests that waited for the answer raise it, too.
        """
        # Read before the wait below: answers that are begun meanwhile are newer than this request.
        num_before = self._num_made
        version = await anyio.to_thread.run_sync(self._serving.part(StoreVersion).now, limiter=self._looking)
        if version is None:
            # The store is gone or locked: opening it raises the right error.
            return await self._serving.read(make)
        while True:
            found = self._kept.get(key)
            if found is not None and found.version == version and time.monotonic() < found.until:
                self._kept.move_to_end(key)
                return found.whole
            making = self._making.get(key)
            if making is None:
                return await self._make(key, version, kept_s, make)
            await making.done.wait()
            # An answer begun before this request, from an older store, may lack what the client has seen.
            if making.number > num_before or making.version == version:
                # If there is neither an error nor an answer, the other request was cancelled, so this one
                # makes it.
                if making.error is not None:
                    raise making.error
                if making.whole is not None:
                    return making.whole

    async def _make(
        self, key: Key, version: Version, kept_s: float, make: Callable[[Reading], Whole]
    ) -> Whole:
        self._num_made += 1
        # The version was read before the answer is made, so a change in between makes the entry stale.
        making = self._making[key] = _Making(self._num_made, version)
        try:
            making.whole = await self._serving.read(make)
        except Exception as error:
            making.error = error
            raise
        finally:
            # Removed before the waiting requests are woken: one of them may have to make the answer again.
            del self._making[key]
            making.done.set()
        if not making.whole.is_moving:
            self._keep(key, _CacheEntry(key, version, making.whole.pack(), time.monotonic() + kept_s))
        return making.whole

    def _keep(self, key: Key, made: _CacheEntry) -> None:
        # Inserted at the end, so that the dictionary is ordered by last use.
        before = self._kept.pop(key, None)
        self._size += made.size - (0 if before is None else before.size)
        self._kept[key] = made
        while self._kept and (self._size > _MOST_BYTES or len(self._kept) > _MOST_KEPT):
            _, oldest = self._kept.popitem(last=False)
            self._size -= oldest.size

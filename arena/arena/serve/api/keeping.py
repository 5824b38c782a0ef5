"""Answers that are kept while the store stays as it is; questions that are ended when they take too long."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import ExitStack
from functools import wraps
from threading import Lock, Timer
from typing import TYPE_CHECKING, Any, Final

from arena.errors import ArenaError
from arena.home import open_store, store_errors, store_path
from arena.pages.twins import twin_json
from arena.serve.problems import ProblemError
from arena.serve.rows import Raw
from arena.watching.query import BUSY_MS
from arena_plugins.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from arena.serve.context import RequestContext, Serving
    from arena.serve.reading import Reading
    from arena_db.store import Store

    Handler: TypeAlias = Callable[[Reading, RequestContext], Any]
    Version: TypeAlias = tuple[int, int]
    Key: TypeAlias = tuple[str, ...]

LONGEST_S: Final = 10.0
"""Seconds after which a question to the store is interrupted: others wait for its thread."""
_MOST_KEPT: Final = 256
_MOST_BYTES: Final = 16 << 20
JSON: Final = "application/json"


class StoreVersion:
    """Says whether the store has changed, without reading it: SQLite counts the commits of others.

    The count belongs to one connection, which is therefore kept open. A store that was replaced by another
    file is opened anew.
    """

    def __init__(self, serving: Serving) -> None:
        """Open nothing yet."""
        self._option = serving.settings.db
        self._lock = Lock()
        self._stack = ExitStack()
        self._store: Store | None = None
        self._file: tuple[int, int] = (0, 0)
        self._num_opened = 0

    def now(self) -> Version | None:
        """Return a value that differs after every change of the store; None where it cannot be read."""
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
        found = store_path(self._option).stat()
        if self._store is None or (found.st_dev, found.st_ino) != self._file:
            self._forget()
            opened = open_store(self._option, read_only=True, create=False, busy_ms=BUSY_MS)
            self._store = self._stack.enter_context(opened)
            self._file = (found.st_dev, found.st_ino)
            self._num_opened += 1
        with store_errors():
            return self._num_opened, self._store.data_version()

    def _forget(self) -> None:
        self._store = None
        self._stack.close()


class KeptAnswers:
    """The answers that were asked for last, as bytes, each with the version of the store it was made from."""

    def __init__(self, serving: Serving) -> None:
        """Keep nothing yet."""
        self._serving = serving
        self._lock = Lock()
        self._kept: OrderedDict[Key, tuple[Version, Raw]] = OrderedDict()
        self._size = 0

    def answer(self, key: Key, make: Callable[[], Raw]) -> Raw:
        """Return what was answered before, or make it.

        Args:
            key: all that the answer depends on besides the store.
            make: reads the store, and nothing else that changes.
        """
        # Read before the answer is made: of a change in between the next one to ask finds out.
        version = self._serving.part(StoreVersion).now()
        with self._lock:
            found = self._kept.get(key)
            if found is not None and version is not None and found[0] == version:
                self._kept.move_to_end(key)
                return found[1]
        made = make()
        if version is not None:
            self._keep(key, version, made)
        return made

    def _keep(self, key: Key, version: Version, made: Raw) -> None:
        with self._lock:
            before = self._kept.pop(key, None)
            self._size += _size(key, made) - (0 if before is None else _size(key, before[1]))
            self._kept[key] = version, made
            while self._kept and (self._size > _MOST_BYTES or len(self._kept) > _MOST_KEPT):
                oldest, (_, gone) = self._kept.popitem(last=False)
                self._size -= _size(oldest, gone)


def _size(key: Key, made: Raw) -> int:
    return len(made.content) + sum(map(len, key))


def bounded(handler: Handler) -> Handler:
    """Return a handler whose questions to the store are interrupted after `LONGEST_S`: an answer of 503."""

    @wraps(handler)
    def with_bound(reading: Reading, context: RequestContext) -> Any:  # noqa: ANN401 - what the handler returns
        timer = Timer(LONGEST_S, reading.query.cancel)
        timer.daemon = True
        timer.start()
        try:
            return handler(reading, context)
        except Exception as error:
            if reading.query.is_cancelled:
                raise ProblemError(
                    503,
                    f"This question took longer than {LONGEST_S:.0f} s and was ended; ask for fewer matches "
                    "(tournament, date, limit), or run the command on the server's machine.",
                    retry_after=30,
                ) from error
            if isinstance(error, PluginError):
                # A game that is not installed here is a parameter that means nothing.
                raise ProblemError(400, str(error)) from error
            raise
        finally:
            timer.cancel()

    return with_bound


def kept(handler: Handler) -> Handler:
    """Return a handler whose answers are kept until the store changes; bounded as well.

    It may depend on path, parameters and store alone: not on who asks, the time, or a process that runs.
    """
    within = bounded(handler)

    @wraps(handler)
    def with_memory(reading: Reading, context: RequestContext) -> Raw:
        def make() -> Raw:
            found = within(reading, context)
            return found if isinstance(found, Raw) else Raw(content=twin_json(found), media_type=JSON)

        return context.serving.part(KeptAnswers).answer((context.path, context.query_text), make)

    return with_memory

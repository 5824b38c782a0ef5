"""Cancellable queries of viewers to the store, each on a connection of its own.

A source is a function of a `Query` that returns `Rows` or `Empty`:

    def read_something(query: Query, number: int) -> Rows[Something] | Empty:
        with query.store() as store:
            for page in store.bulk.whole_matches(...):
                query.check()  # in every loop that may take longer than 50 ms
                ...

`Queries.ask` calls it in the current thread and passes each answer to `publish`, unless the query was
cancelled meanwhile. The dashboard does so in threads (`arena.tui.query_runner`), web pages in the thread of
the request.
"""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, TypeVar

from arena.errors import ArenaError, StoreError
from arena.home import has_store, open_store, store_place
from arena.watching.query_answers import Answer, Empty, Rows, Unavailable
from arena_db.errors import AccessError, AwayError, LockedError, MissingError, MovedError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from arena_db.backend.places import Place
    from arena_db.store import Store

_Content = TypeVar("_Content")

BUSY_MS: Final = 500
"""Milliseconds to wait for a locked store before reporting it; viewers retry by themselves."""


class Cancelled(ArenaError):  # noqa: N818 - nothing went wrong
    """The answer of a query is no longer wanted; caught where the query was started."""


class StoreLost(StoreError):  # noqa: N818 - its text says what is wrong
    """The store is gone, locked or unreadable; it may come back."""


class NoStoreYet(StoreError):  # noqa: N818 - nothing went wrong
    """There is no store and there never was one: nothing has been played."""


class Query:
    """One query; made by `Queries.new`, or directly if there is only one, as in tests and commands."""

    def __init__(self, option: str | None, *, is_expected: bool = True) -> None:
        """Prepare a query.

        Args:
            option: path of the store; None for the default.
            is_expected: whether a missing store is an error; if not, it may not have been created yet.
        """
        self._option = option
        self._is_expected = is_expected
        self._lock = Lock()
        self._stores: list[Store] = []
        self._is_cancelled = False
        self._publish: Callable[[Rows[Any]], None] | None = None

    @property
    def is_cancelled(self) -> bool:
        """Whether the answer is no longer wanted."""
        return self._is_cancelled

    def is_wanted(self) -> bool:
        """Return whether the answer is still wanted; passed as `is_wanted` to functions that wait."""
        return not self._is_cancelled

    def cancel(self) -> None:
        """Cancel the query and interrupt its statements in the store; may be called from any thread."""
        with self._lock:
            self._is_cancelled = True
            for store in self._stores:
                store.interrupt()

    def check(self) -> None:
        """Return if the answer is still wanted; called within loops.

        Raises:
            Cancelled: the answer is no longer wanted.
        """
        if self._is_cancelled:
            raise Cancelled("nobody waits for this answer any more")

    def publish(self, content: object) -> None:
        """Publish a part of the answer before it is complete.

        Raises:
            Cancelled: the answer is no longer wanted.
        """
        self.check()
        if self._publish is not None:
            self._publish(Rows(content))

    def publish_to(self, sink: Callable[[Rows[Any]], None]) -> None:
        """Set the function that `publish` calls."""
        self._publish = sink

    @contextmanager
    def store(self) -> Generator[Store]:
        """Open the store read-only for a `with` block; `cancel` interrupts its statements.

        Raises:
            Cancelled: the query was cancelled.
            NoStoreYet: there is no store, and none is expected.
            StoreLost: the store is gone, locked or not readable; the message has one line.
            StoreError: the store cannot be read for another reason.
        """
        self.check()
        path = self._place()
        try:
            with open_store(self._option, read_only=True, create=False, busy_ms=BUSY_MS) as store:
                self._hold(store)
                try:
                    yield store
                finally:
                    with self._lock:
                        # Removed before the store is closed: `cancel` must not interrupt a closed store.
                        self._stores.remove(store)
        except StoreError as error:
            raise self.told(error, path.name) from error.__cause__

    def told(self, error: ArenaError, name: str = "") -> ArenaError:
        """Return the error that a viewer raises in place of another: a single line if it may be temporary.

        Args:
            error: an error of the store; any other error is returned unchanged.
            name: name of the file; empty for the store's.

        Raises:
            Cancelled: the query was cancelled, so the error is irrelevant.
        """
        self.check()
        # An interrupted statement fails in the same way as a broken store; `check` has excluded that case.
        if not isinstance(error, StoreError) or isinstance(error, StoreLost):
            return error
        text = _lost(error.__cause__, name or store_place(self._option).name)
        return StoreLost(text) if text else error

    def _place(self) -> Place:
        """Return the place where the store is or should be."""
        try:
            path = store_place(self._option)
            if not self._is_expected and not has_store(self._option):
                raise NoStoreYet(f"nothing has been played yet, so there is no store ({path})")
        except OSError as error:
            name = Path(self._option or "arena.db").name
            raise StoreLost(f"store {name} cannot be read ({error.strerror}); looking again") from error
        return path

    def _hold(self, store: Store) -> None:
        """Register a store that was just opened, so that `cancel` reaches it."""
        with self._lock:
            # `cancel` may have been called while the store was being opened.
            self._stores.append(store)
            if self._is_cancelled:
                store.interrupt()


class Queries:
    """All queries of one viewer to one store."""

    def __init__(self, option: str | None) -> None:
        """Prepare queries to a store: a path, or None for the default."""
        self.option = option
        """Path of the store; None for the default."""
        self._lock = Lock()
        self._running: set[Query] = set()
        # If the store exists now, its absence is an error later, even before the first query.
        self._was_there = self._is_there()
        self._is_over = False

    def new(self) -> Query:
        """Return a query for `ask`."""
        self._was_there = self._was_there or self._is_there()
        return Query(self.option, is_expected=self._was_there)

    def _is_there(self) -> bool:
        try:
            return has_store(self.option)
        except (ArenaError, OSError):
            # The store cannot even be located; the query will report why.
            return True

    def ask(
        self,
        query: Query,
        source: Callable[[Query], Rows[_Content] | Empty],
        publish: Callable[[Answer[_Content]], None],
    ) -> None:
        """Answer a query in this thread.

        Args:
            query: made by `new`; may be cancelled from other threads at any time.
            source: reads the store; may `publish` parts of the answer.
            publish: called in this thread with each answer, never after the query was cancelled. If it passes
                the answer to another thread, it must check `query.is_cancelled` again there.
        """
        with self._lock:
            self._running.add(query)
            # Under the lock: `close` either has been called before or finds this query among the running
            # ones.
            if self._is_over:
                query.cancel()
        query.publish_to(publish)
        try:
            answer = answer_of(query, source)
            if answer is not None and not query.is_cancelled:
                publish(answer)
        finally:
            with self._lock:
                self._running.discard(query)

    @property
    def num_running(self) -> int:
        """Number of queries being answered."""
        return len(self._running)

    def close(self) -> None:
        """Cancel all queries, later ones included, since the viewer ends."""
        with self._lock:
            self._is_over = True
            running = list(self._running)
        for query in running:
            query.cancel()


def answer_of(
    query: Query, source: Callable[[Query], Rows[_Content] | Empty]
) -> Rows[_Content] | Empty | Unavailable | None:
    """Return the answer of a source; None if the query was cancelled."""
    try:
        query.check()
        return source(query)
    except Cancelled:
        return None
    except NoStoreYet as error:
        return Empty(str(error))
    except ArenaError as error:
        return None if query.is_cancelled else Unavailable(str(error), isinstance(error, StoreLost))


def _lost(cause: BaseException | None, name: str) -> str:
    """Return a viewer's message about an error of a store; empty if the error is permanent."""
    away = cause.__cause__ if isinstance(cause, MissingError) else cause
    if isinstance(away, AwayError):
        what = "is away"
    elif isinstance(cause, MovedError) and cause.is_replaced:
        what = "was replaced by another file"
    elif isinstance(cause, MissingError | MovedError):
        what = "is gone (moved or deleted)"
    elif isinstance(cause, LockedError):
        what = "is locked by another process"
    elif isinstance(cause, AccessError):
        what = f"cannot be read ({_brief(cause)})"
    else:
        return ""
    return f"store {name} {what}; looking again"


def _brief(error: AccessError) -> str:
    """Return the message of the operating system, without the path and without advice."""
    cause = error.__cause__
    return getattr(cause, "strerror", None) or str(cause or error).partition("\n")[0]

"""The interface between a store and its database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from sqlalchemy import Connection, Engine, PoolProxiedConnection

    from arena_db.backend.settings import StoreSettings
    from arena_db.backend.sqlite.spool import Spool


class Backend(Protocol):
    """The database of one open store; it raises the driver's errors, which callers translate."""

    @property
    def engine(self) -> Engine:
        """Makes connections; closing one returns it to the pool."""
        ...

    @property
    def driver_error(self) -> type[Exception]:
        """Base class of the driver's exceptions."""
        ...

    @property
    def spool(self) -> Spool | None:
        """Where results wait while another process holds the write lock.

        None if the backend has no such place.
        """
        ...

    def close(self) -> None:
        """Close all connections."""
        ...

    def writing(self, settings: StoreSettings, *, alone: bool) -> AbstractContextManager[Connection]:
        """Yield a connection that holds the write lock; commit at the end, roll back on an error.

        Args:
            settings: how long to wait for the lock, and whether to sync.
            alone: whether to exclude all other writers. Otherwise runs write concurrently, if the backend
                supports it; each of them must lock the lease of its tournament first.
        """
        ...

    def removing(self, settings: StoreSettings) -> AbstractContextManager[Connection]:
        """Write exclusively, as `writing`, to remove whole tournaments and all rows that refer to them."""
        ...

    def reading(
        self, is_wanted: Callable[[], bool] | None, held: Connection | None = None
    ) -> AbstractContextManager[Connection]:
        """Yield a connection that reads one snapshot of the store.

        Args:
            is_wanted: called now and then, from any thread; the running query is interrupted once it returns
                False.
            held: the connection, if it must be a certain one; it stays open.
        """
        ...

    def watcher(self) -> PoolProxiedConnection:
        """Open a connection for polling."""
        ...

    def looking(self, raw: Any) -> AbstractContextManager[None]:  # noqa: ANN401 - a driver's connection
        """Run all queries of a `with` block on a driver's connection in one snapshot."""
        ...

    def beside(self, busy_ms: int) -> AbstractContextManager[Any]:
        """Yield a driver's connection for one quick write; works with a store that is open read-only, too."""
        ...

    def data_version(self, raw: Any) -> int:  # noqa: ANN401 - see above
        """Return a number that changes with every commit."""
        ...

    def interrupt(self) -> None:
        """Interrupt the running queries."""
        ...

    def check_readable(self) -> None:
        """Check that the opened file still has its name and is readable."""
        ...

    def check_place(self) -> None:
        """Check that the opened file still has its name."""
        ...

    def hold_place(self) -> None:
        """From now on check the files beside the store, too."""
        ...

    def take_warnings(self) -> list[str]:
        """Return warnings for people, each text once."""
        ...

    def backup(self, target: Path) -> None:
        """Copy the store to a new file."""
        ...

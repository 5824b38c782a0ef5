"""What a store asks of the database that it lies in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from sqlalchemy import Connection, Engine, PoolProxiedConnection

    from arena_db.backend.lite.spool import Spool
    from arena_db.backend.settings import StoreSettings


class Backend(Protocol):
    """The database of one open store; its errors are those of the driver, which callers explain."""

    @property
    def engine(self) -> Engine:
        """Makes connections that are given back by their `close`."""
        ...

    @property
    def driver_error(self) -> type[Exception]:
        """The base of what the driver raises."""
        ...

    @property
    def spool(self) -> Spool | None:
        """Where results wait while another process holds the write lock; None where nothing lies beside."""
        ...

    def close(self) -> None:
        """End all connections."""
        ...

    def writing(self, settings: StoreSettings, *, alone: bool) -> AbstractContextManager[Connection]:
        """Yield a connection that holds the write lock; commit at the end, roll back on an error.

        Args:
            settings: how long to wait for the lock, and whether to sync.
            alone: keep all other writers out. Else those of runs write side by side, where that is possible;
                each of them has to lock the lease of its tournament first.
        """
        ...

    def removing(self, settings: StoreSettings) -> AbstractContextManager[Connection]:
        """Do as `writing` alone, for somebody who removes whole tournaments with all that points to them."""
        ...

    def reading(self, is_wanted: Callable[[], bool] | None) -> AbstractContextManager[Connection]:
        """Yield a connection that reads one snapshot of the store.

        Args:
            is_wanted: asked now and then, in any thread; the query that runs ends once it says no.
        """
        ...

    def watcher(self) -> PoolProxiedConnection:
        """Open a connection for those who look again and again."""
        ...

    def looking(self, raw: Any) -> AbstractContextManager[None]:  # noqa: ANN401 - a driver's connection
        """Run all queries of a `with` block by a driver's own connection in one snapshot."""
        ...

    def beside(self, busy_ms: int) -> AbstractContextManager[Any]:
        """Yield a driver's connection for one quick write, also beside a store that is open to read only."""
        ...

    def data_version(self, raw: Any) -> int:  # noqa: ANN401 - see above
        """Return a number that changes when anybody has written."""
        ...

    def interrupt(self) -> None:
        """End the queries that are running."""
        ...

    def check_readable(self) -> None:
        """Return if what was opened still has its name and may be read."""
        ...

    def check_place(self) -> None:
        """Return if what was opened still has its name."""
        ...

    def hold_place(self) -> None:
        """Remember also what lies beside the store, from now on."""
        ...

    def take_warnings(self) -> list[str]:
        """Return what people should know, each text once."""
        ...

    def backup(self, target: Path) -> None:
        """Copy the store to a new file."""
        ...

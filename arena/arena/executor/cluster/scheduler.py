"""The scheduler process: Dask's scheduler with our hub in it and without web pages."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
from distributed import Scheduler

from arena.errors import ConfigError
from arena.executor.cluster.dask_settings import security_of, set_dask
from arena.executor.cluster.hub import ClusterHub
from arena.executor.cluster.key_files import find_place
from arena.executor.cluster.pieces import PieceCache
from arena.executor.cluster.setups import SchedulerSetup
from arena.executor.open_files import allow_files
from arena.executor.parent import end_with_parent
from arena.executor.workspace import workspace

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.executor.cluster.key_files import SchedulerPlace

_FILES: Final = 65_536
"""Number of open files and connections that a scheduler requests from the system. A slot has two connections,
and a third while it joins."""


_TICK_S: Final = 1.0
"""Seconds between two looks at the clock."""
_PAUSE_S: Final = 2.0
"""Seconds by which a look may be late without the process having slept."""


class QuietScheduler(Scheduler):
    """A scheduler without an HTTP server, which would open an unexpected port."""

    _looked_at = 0.0

    def start_http_server(self, *_: Any, **__: Any) -> None:  # noqa: ANN401 - Dask's
        """Start no server."""

    async def check_worker_ttl(self) -> None:
        """Remove slots that are silent for too long."""
        self.look_at_clock()
        await super().check_worker_ttl()

    async def watch_clock(self) -> None:
        """Look at the clock again and again."""
        while True:
            self.look_at_clock()
            await asyncio.sleep(_TICK_S)

    def look_at_clock(self) -> None:
        """Notice that this process slept, or that the clock was set: for that time no slot was silent.

        A computer that wakes up would otherwise find that all slots are lost, and that the running matches
        are to blame.
        """
        now = time.time()
        slept = now - self._looked_at - _TICK_S if self._looked_at else 0.0
        self._looked_at = now
        if abs(slept) > _PAUSE_S:
            for state in self.workers.values():
                state.last_seen = min(now, state.last_seen + slept)


def run_scheduler(place: SchedulerPlace, tell: Callable[[str], None]) -> None:
    """Run a scheduler until SIGTERM or SIGINT.

    Args:
        place: listening address and key; port 0 chooses a free port.
        tell: called with the address once it listens.

    Raises:
        ConfigError: it cannot listen there.
    """
    set_dask()
    allow_files(_FILES)
    logging.getLogger("distributed").setLevel(logging.ERROR)
    scheme, _, rest = place.address.partition("://")
    host, _, port = rest.rpartition(":")

    async def serve(folder: Path) -> None:
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            # Handlers of the loop run between its callbacks, so the scheduler closes its connections in
            # order.
            loop.add_signal_handler(number, ended.set)
        scheduler = QuietScheduler(
            host=host,
            port=int(port),
            protocol=scheme,
            security=security_of(place.key),
            dashboard=False,
            plugins=[ClusterHub(PieceCache(folder / "pieces"))],
        )
        async with scheduler:
            # The address it has now: port 0 is replaced by the port that the system chose.
            tell(scheduler.address)
            watching = asyncio.create_task(scheduler.watch_clock())
            await ended.wait()
            watching.cancel()

    with workspace() as folder:
        try:
            asyncio.run(serve(folder))
        except RuntimeError as error:
            # Dask's own error only says that it failed; the reason is its cause.
            cause = error.__cause__
            if not isinstance(cause, OSError):
                raise
            raise ConfigError(
                f"cannot listen at {place.address} ({cause.strerror or cause}); give another --bind HOST:PORT"
            ) from error


def main() -> None:
    """Run the scheduler described by the first line of standard input; print its address."""
    setup = msgspec.json.decode(sys.stdin.readline(), type=SchedulerSetup)
    end_with_parent(setup.parent)
    place = find_place(setup.address, Path(setup.keys) if setup.keys else None)
    with suppress(KeyboardInterrupt):
        run_scheduler(place, lambda address: print(address, flush=True))  # noqa: T201 - read by the parent


if __name__ == "__main__":
    main()

"""A coordinator's connection to the hub: a Dask client in its own thread, and the query for machines."""

from __future__ import annotations

import asyncio
import logging
import threading
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, Final

from distributed import Client

from arena.errors import ArenaError
from arena.executor.cluster import messages
from arena.executor.cluster.dask_settings import security_of, set_dask
from arena.executor.cluster.hardware import describe_gpus
from arena.executor.cluster.messages import OP, AskStatus, Status, encode

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.executor.cluster.key_files import SchedulerPlace
    from arena.executor.cluster.messages import ClusterMessage, HubTellsCoordinator, MachineState

_ANSWER_S: Final = 5.0
"""Seconds to wait for a status; longer than `_CONNECT_S`, so that a slow connection is not reported as a
scheduler that does not answer."""


def ask_status(place: SchedulerPlace) -> tuple[MachineState, ...]:
    """Return the machines of a cluster, sorted by name; waits at most `_ANSWER_S` seconds.

    Raises:
        ArenaError: the scheduler does not answer.
    """
    found: list[Status] = []
    has_come = threading.Event()

    def hear(message: HubTellsCoordinator) -> None:
        if isinstance(message, Status):
            found.append(message)
            has_come.set()

    def ask() -> None:
        link.send(AskStatus())

    with closing(CoordinatorLink(place, hear=hear, up=ask, down=lambda: None)) as link:
        # The answer comes in the thread of the connection.
        has_come.wait(_ANSWER_S)
    if not found:
        raise ArenaError(
            f"the scheduler at {place.address} does not answer; was it started by arena cluster start?"
        )
    return found[0].machines


def status_row(machine: MachineState) -> dict[str, object]:
    """Return a machine as an object; what is unknown, or not so now, is None."""
    return {
        "machine": machine.name,
        "state": machine.state,
        "slots": machine.slots,
        "tier": machine.tier,
        "gpus": describe_gpus(machine.gpus) or None,
        "speed": machine.speed or None,
        "matches_per_min": round(machine.matches_per_min) if machine.state == "playing" else None,
        "lost": machine.lost,
        "note": machine.note,
    }


_CONNECT_S: Final = 4.0
"""Seconds of one attempt to connect."""
_AGAIN_S: Final = 0.5
"""Seconds between attempts to connect, and so the time until a restarted scheduler is found."""
_CLOSE_S: Final = 3.0
"""Seconds to wait for the thread at the end. It is a daemon thread, so a connection that hangs cannot keep
the process alive."""
_FLUSH_S: Final = 0.05
"""Seconds to wait until sent messages have left; Dask's client collects them for 10 ms before it writes
them."""


class _OnceClient(Client):
    """A client that does not reconnect by itself, since a new scheduler does not know this coordinator."""

    lost: asyncio.Event

    async def _reconnect(self) -> None:
        self.lost.set()
        await self._close(fast=True)


class CoordinatorLink:
    """Sends messages to the hub; callbacks run in the thread of the connection."""

    def __init__(
        self,
        place: SchedulerPlace,
        *,
        hear: Callable[[HubTellsCoordinator], None],
        up: Callable[[], None],
        down: Callable[[], None],
    ) -> None:
        """Connect in the background, and again whenever the connection is lost.

        Args:
            place: where the scheduler is.
            hear: receives the messages of the hub.
            up: called when a connection is made, before `hear` gets any message from it.
            down: called when it is lost.
        """
        self._place = place
        self._hear, self._up, self._down = hear, up, down
        self._client: Any = None
        self._loop = asyncio.new_event_loop()
        self._closing = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="cluster", daemon=True)
        self._thread.start()

    def send(self, message: ClusterMessage) -> None:
        """Send a message; it is lost if there is no connection."""
        # Called in the thread of the run, while the loop and its client belong to the thread of the
        # connection.
        self._loop.call_soon_threadsafe(self._send, encode(message))

    def in_background(self, work: Callable[[], ClusterMessage]) -> None:
        """Call a slow function in a thread, and send the message that it returns."""

        def then(future: asyncio.Future[ClusterMessage]) -> None:
            self._send(encode(future.result()))

        # Reading files in the loop would hold up all messages, heartbeats included.
        self._loop.call_soon(lambda: self._loop.run_in_executor(None, work).add_done_callback(then))

    def close(self) -> None:
        """Close the connection after sending the messages of earlier calls."""
        # Raised if the loop is closed already.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join(_CLOSE_S)

    def _run(self) -> None:
        set_dask()
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._keep_connected())
        finally:
            self._loop.close()

    async def _keep_connected(self) -> None:
        while not self._closing.is_set():
            lost = asyncio.Event()
            with suppress(OSError, TimeoutError, ValueError):
                client: Any = _OnceClient(
                    self._place.address,
                    security=security_of(self._place.key),
                    asynchronous=True,
                    set_as_default=False,
                    timeout=_CONNECT_S,
                )
                client.lost = lost
                # Set before the client connects, so that no message arrives without a handler.
                client._stream_handlers[OP] = self._take  # noqa: SLF001 - Dask has no public way
                await client
                self._client = client
                try:
                    # Only now, because `up` sends messages through the client.
                    self._up()
                    await _first(lost.wait(), self._closing.wait())
                    self._client = None
                    if lost.is_set():
                        self._down()
                    else:
                        # Sent messages may still be in one of Dask's buffers.
                        await asyncio.sleep(_FLUSH_S)
                finally:
                    # Abort in all cases: the hub frees the slots of a run when its connection ends.
                    if client.scheduler_comm is not None:
                        client.scheduler_comm.abort()
                    await client._close(fast=True)  # noqa: SLF001 - `close` does more than is needed
            if not self._closing.is_set():
                await _first(asyncio.sleep(_AGAIN_S), self._closing.wait())

    def _send(self, data: bytes) -> None:
        client = self._client
        if client is not None and client.scheduler_comm is not None:
            with suppress(OSError):
                client.scheduler_comm.send({"op": OP, "data": data})

    def _take(self, data: bytes) -> None:
        self._hear(messages.for_coordinator(data))


async def _first(*waits: Any) -> None:  # noqa: ANN401 - awaitables of any kind
    """Wait until one of the awaitables is done; cancel the others."""
    tasks = [asyncio.ensure_future(each) for each in waits]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()

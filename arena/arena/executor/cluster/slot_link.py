"""The connection of a slot: a Dask worker in its own thread, which receives and sends messages."""

from __future__ import annotations

import asyncio
import hashlib
import os
import threading
import time
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final

from distributed import Worker

from arena.errors import ArenaError
from arena.executor.cluster import messages
from arena.executor.cluster.dask_settings import security_of, set_dask
from arena.executor.cluster.hub_clock import ASK_S, HubClock
from arena.executor.cluster.messages import (
    OP,
    PIECE,
    Ack,
    Bye,
    ContentPiece,
    Hello,
    HubTime,
    Over,
    PlayBatch,
    ResultPart,
    RunOrder,
    RunShard,
    ShardOver,
    ShardPart,
    Streamed,
    Want,
    Welcome,
    Withdraw,
    encode,
    encode_records,
)
from arena.executor.cluster.setups import LOST
from arena.executor.cluster.start_reports import StartReports

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from arena.executor.cluster.facts import WorkerFacts
    from arena.executor.cluster.key_files import SchedulerPlace
    from arena.executor.cluster.messages import ClusterMessage
    from arena.executor.logs import LogPart
    from arena.executor.slots import Slot
    from arena_db.records import MatchRecord

_ABORT_S: Final = 1.0
"""Seconds that an aborted match has to end by itself; then its bots are killed with the process."""
_MAX_UNACKED: Final = 8 << 20
"""Maximum bytes of results that the hub has not acknowledged; beyond it, the slot waits."""
_MAX_STREAMED: Final = 200
"""Maximum messages in Dask's send buffer; beyond it, events of running matches are sent later."""
_ACK_S: Final = 0.05
"""Seconds between two checks for an abort while an acknowledgement is awaited."""
_PIECE_S: Final = 60.0
"""Seconds to wait for a piece of a content, 4 MiB: enough at 70 kB/s."""
_LEAVE_S: Final = 10.0
"""Longest wait, in seconds, until the last results have reached the hub, and until the farewell is sent."""
_GOODBYE_S: Final = 0.3
"""Seconds in which a message travels before the process exits."""
_POLL_S: Final = 0.1
"""Seconds between two checks for an abort while a piece is awaited."""
_GROUP: Final = 4
"""Hex digits of a group of an IPv6 address."""
_FIRST_PORT: Final = 1024
"""Lowest port of contact addresses: lower ones need privileges."""
_NUM_PORTS: Final = 60_000
"""Number of ports that contact addresses use, from `_FIRST_PORT` on."""
_LOOK_S: Final = 0.2
"""Seconds between two checks of whether the slot must end, while it connects."""


class QuietWorker(Worker):
    """A worker without an HTTP server."""

    def start_http_server(self, *_: Any, **__: Any) -> None:  # noqa: ANN401 - Dask's
        """Start no server."""


def contact_address(scheme: str, slot: Slot) -> str:
    """Return the address by which the scheduler identifies a slot; it must be unique.

    Nothing ever connects to it: it is in the discard prefix 100::/64, to which no router forwards packets
    (RFC 6666). A successor gets another address, so it can join before the scheduler notices the end of this
    slot.
    """
    digest = hashlib.sha256(f"{slot.machine}/{slot.number}/{slot.start}".encode()).hexdigest()
    # The prefix leaves four groups of the address, and the next digits choose the port.
    *groups, port = (digest[at : at + _GROUP] for at in range(0, 5 * _GROUP, _GROUP))
    return f"{scheme}://[100::{':'.join(groups)}]:{_FIRST_PORT + int(port, 16) % _NUM_PORTS}"


class SlotLink:
    """Receives the messages for a slot, and sends its own."""

    def __init__(self, slot: Slot, place: SchedulerPlace, facts: WorkerFacts, folder: Path) -> None:
        """Prepare to connect.

        Args:
            slot: identity of this process.
            place: where the scheduler is.
            facts: properties of this machine.
            folder: folder for files of Dask.
        """
        self.slot = slot
        self.clock = HubClock()
        self.is_ending = False
        """Whether this slot ends after its current match."""
        self._place, self._facts, self._folder = place, facts, folder
        self._plays: SimpleQueue[PlayBatch | RunShard | None] = SimpleQueue()
        self._pieces: SimpleQueue[ContentPiece] = SimpleQueue()
        self._orders: dict[str, str] = {}
        self._waiting: dict[tuple[str, int], PlayBatch | RunShard] = {}
        """Work that this slot has received and not begun. Both threads take from it; the one that gets an
        item reports its end, so that none is reported twice."""
        self._withdrawn: set[tuple[str, int]] = set()
        self._current: tuple[str, int] | None = None
        self._unacked: dict[tuple[str, int, int], int] = {}
        self._acked = threading.Condition()
        self._starts = StartReports(self._send_now, self._is_idle)
        self.reports_each = False
        """Whether each start and result of the current batch must be sent before the next match is played."""
        self._num_parts = 0
        self._joined = threading.Event()

    def start(self) -> None:
        """Connect, without a timeout; return once the hub has answered or the slot is to end."""
        threading.Thread(target=self._run, name="link", daemon=True).start()
        while not self._joined.wait(_LOOK_S) and not self.is_ending:
            pass

    @property
    def has_joined(self) -> bool:
        """Whether the hub has answered."""
        return self._joined.is_set()

    def next_work(self) -> PlayBatch | RunShard | None:
        """Wait for a batch or a shard; return None when the slot is to end."""
        while not self.is_ending:
            play = self._plays.get()
            if play is None:
                break
            if self._waiting.pop((play.run, play.batch), None) is None:
                # It was withdrawn meanwhile; `_withdraw` has reported its end.
                continue
            if self.was_aborted(play.run):
                # It was queued behind the aborted work, and its run waits for its end.
                self._give_back(play)
                continue
            self._current = play.run, play.batch
            self._num_parts = 0
            # A shard takes seconds, and its run must know whether a slot that dies had begun it.
            self.reports_each = not isinstance(play, PlayBatch) or play.is_suspect
            return play
        return None

    def _give_back(self, play: PlayBatch | RunShard) -> None:
        """Report the end of work that was not begun."""
        is_batch = isinstance(play, PlayBatch)
        self._say((Over if is_batch else ShardOver)(play.run, play.batch))

    def end_soon(self) -> None:
        """Start no further match and let `next_work` return None; may be called by a signal handler."""
        self.is_ending = True
        # Wakes `next_work`. A `SimpleQueue` may be used in a signal handler; a lock held by this thread could
        # not.
        self._plays.put(None)

    def must_stop(self) -> bool:
        """Return whether no further match of the current batch may start."""
        current = self._current
        # Read by the thread that plays while that of the connection writes, without a lock: each is a single
        # operation on a dict or a set, and an order that comes a moment later is seen at the next call.
        return self.is_ending or current is None or current[0] in self._orders or current in self._withdrawn

    def must_abort(self) -> bool:
        """Return whether the running match must end now."""
        current = self._current
        return current is not None and self.was_aborted(current[0])

    def was_aborted(self, run: str) -> bool:
        """Return whether a run was aborted, or has ended."""
        return self._orders.get(run) == "abort"

    def tell_began(self, number: int = 0) -> None:
        """Report that a match of the current batch, or the current shard, starts."""
        if self._current is not None:
            self._starts.note(self._current, number, is_suspect=self.reports_each)

    def deliver(self, records: list[MatchRecord], logs: Sequence[LogPart] = ()) -> None:
        """Send results of the current batch; block while too many bytes are unacknowledged (backpressure).

        Args:
            records: the results.
            logs: logs of these matches.
        """
        if self._current is None or not records:
            return
        data = encode_records(records)
        key = self._next_part()
        size = len(data) + sum(len(part.data) for part in logs)
        self._say_part(ResultPart(*key, len(records), data, tuple(logs)), key, size)

    def deliver_shard(self, result: bytes) -> None:
        """Send the result of the current shard, in pieces; blocks as `deliver`."""
        for start in range(0, len(result), PIECE):
            data = result[start : start + PIECE]
            key = self._next_part()
            self._say_part(ShardPart(*key, data), key, len(data))

    def _next_part(self) -> tuple[str, int, int]:
        """Return run, batch and number of the next part of the current work."""
        number = self._num_parts
        self._num_parts += 1
        run, batch = self._current or ("", 0)
        return run, batch, number

    def _say_part(self, part: ResultPart | ShardPart, key: tuple[str, int, int], size: int) -> None:
        with self._acked:
            self._unacked[key] = size
            self._say(part)
            # With a timeout, because an abort does not notify this condition.
            while sum(self._unacked.values()) > _MAX_UNACKED and not self.must_abort():
                self._acked.wait(_ACK_S)

    def publish(self, data: bytes) -> bool:
        """Send events of the running match; return False if too many messages are queued."""
        current = self._current
        if current is None or len(self._worker.batched_stream.buffer) > _MAX_STREAMED:
            return False
        self._say(Streamed(current[0], data, self.clock.ahead))
        return True

    def finish(self, lack: str = "") -> None:
        """Report the end of the current batch."""
        if (current := self._take_current()) is not None:
            self._say(Over(*current, lack))

    def finish_shard(self, *, sha256: str = "", lack: str = "", failure: str = "") -> None:
        """Report the end of the current shard; see `ShardOver`."""
        if (current := self._take_current()) is not None:
            self._say(ShardOver(*current, sha256, lack, failure))

    def _take_current(self) -> tuple[str, int] | None:
        """Return the current work, which is over."""
        current, self._current = self._current, None
        # Every entry is over by now: queued work is never in this set.
        self._withdrawn.clear()
        return current

    def ask_piece(self, content: str, piece: int) -> bytes:
        """Return a piece of a content.

        Raises:
            ArenaError: it is not available, or the run was aborted meanwhile.
        """
        run = self._current[0] if self._current else ""
        self._say(Want(run, content, piece))
        ends_at = time.monotonic() + _PIECE_S
        while time.monotonic() < ends_at and not (self.must_abort() or self.is_ending):
            try:
                found = self._pieces.get(timeout=_POLL_S)
            except Empty:
                continue
            # Any other piece answers an earlier request that timed out.
            if (found.content, found.piece) == (content, piece):
                if found.why:
                    raise ArenaError(found.why)
                return found.data
        raise ArenaError(f"piece {piece} of content {content[:8]} did not come")

    def say(self, message: ClusterMessage) -> None:
        """Send a message."""
        self._say(message)

    def leave(self) -> None:
        """Send a farewell, if the hub had answered, and wait until it has all results."""
        if not self.has_joined:
            return
        # `batched_send` only queues, and the process ends by `os._exit`, which would drop what is queued:
        # matches would be played again, and the hub would count this slot as lost.
        ends_at = time.monotonic() + _LEAVE_S
        with self._acked:
            while self._unacked and time.monotonic() < ends_at:
                self._acked.wait(_ACK_S)
        self._say(Bye(is_playing=False))
        self._starts.await_written(_LEAVE_S)
        time.sleep(_GOODBYE_S)

    def _is_idle(self) -> bool:
        batched = self._worker.batched_stream
        # On a slow network messages wait below Dask's buffer, too. A closed connection has no stream.
        stream = batched.comm.stream
        return not batched.buffer and (stream is None or not stream.writing())

    def _say(self, message: ClusterMessage) -> None:
        self._loop.call_soon_threadsafe(self._send, encode(message))

    def _send(self, data: bytes) -> None:
        # The report that a match started must precede its result.
        self._starts.report()
        self._worker.batched_send({"op": OP, "data": data})

    def _send_now(self, message: ClusterMessage) -> None:
        self._worker.batched_send({"op": OP, "data": encode(message)})

    def _run(self) -> None:
        # Without a connection no result can be delivered, so the process ends with its bots; the supervisor
        # starts another one, which joins as a new slot.
        try:
            asyncio.run(self.serve())
        finally:
            os._exit(LOST)

    async def serve(self) -> None:
        """Connect, and pass messages on until the connection is lost; `start` calls it in its own thread."""
        set_dask()
        self._loop = asyncio.get_running_loop()
        self._starts.start(self._loop)
        scheme = self._place.address.partition("://")[0]
        self._worker: Any = QuietWorker(
            self._place.address,
            # Dask never runs a task here; it pauses a worker above a memory limit, while bots have limits of
            # their own.
            nthreads=1,
            name="-".join(map(str, self.slot)),
            # No one connects to a slot; the loopback address allows it only from this machine.
            host="127.0.0.1",
            protocol=scheme,
            contact_address=contact_address(scheme, self.slot),
            security=security_of(self._place.key),
            memory_limit=0,
            dashboard=False,
            local_directory=str(self._folder),
        )
        self._worker.stream_handlers[OP] = self._hear
        async with self._worker:
            self._send(encode(Hello(self.slot, self._facts)))
            self._ask_time()
            await self._worker.finished()

    def _hear(self, data: bytes) -> None:
        message = messages.for_slot(data)
        match message:
            case PlayBatch() | RunShard():
                self._waiting[message.run, message.batch] = message
                self._plays.put(message)
            case RunOrder():
                self._obey(message)
            case Withdraw():
                self._withdraw((message.run, message.batch))
            case Ack():
                with self._acked:
                    self._unacked.pop((message.run, message.batch, message.number), None)
                    self._acked.notify_all()
            case ContentPiece():
                self._pieces.put(message)
            case HubTime():
                self.clock.hear(message)
            case Welcome():
                self._joined.set()

    def _ask_time(self) -> None:
        self._send_now(self.clock.ask())
        self._loop.call_later(ASK_S, self._ask_time)

    def _withdraw(self, batch: tuple[str, int]) -> None:
        """Return a batch at once if it is still queued, instead of after the one that is played."""
        waiting = self._waiting.pop(batch, None)
        if waiting is None:
            # Either it has begun, and its remaining matches are returned; or it has ended, and this does
            # nothing.
            self._withdrawn.add(batch)
        else:
            self._give_back(waiting)

    def _obey(self, order: RunOrder) -> None:
        if order.order == "go":
            self._orders.pop(order.run, None)
            return
        # Stays until `go`, since a batch of this run may still be on its way here.
        self._orders[order.run] = order.order
        current = self._current
        if order.order == "abort" and current is not None and current[0] == order.run:
            self._loop.call_later(_ABORT_S, self._end_if, current)

    def _end_if(self, batch: tuple[str, int]) -> None:
        """End this process, and its bots with it, if it still plays an aborted batch."""
        if self._current == batch:
            self._send_now(Bye(is_playing=True))
            self._loop.call_later(_GOODBYE_S, os._exit, LOST)

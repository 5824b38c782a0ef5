"""Executors for batches of matches, with news of matches that begin, and orders to stop."""

from __future__ import annotations

from concurrent.futures import Future
from queue import SimpleQueue
from typing import TYPE_CHECKING, Protocol

from arena.executor.channel import drain
from arena.executor.local import LocalPool
from arena.executor.slots import Slot
from arena.executor.telling import decode_events
from arena.executor.worker import SEEN_S, Began, Ways, make_control, play_batch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from arena.executor.job import Job
    from arena.executor.seats import WarmSeats
    from arena_db.records import LiveEvent, MatchRecord


class Pool(Protocol):
    """Where batches are played; every implementation gives the same records for the same jobs."""

    batch_s: float
    """Seconds that a batch should last."""

    @property
    def num_workers(self) -> int:
        """Batches that can be played at once, when all slots are up."""
        ...

    def slots(self) -> Sequence[Slot]:
        """Return the slots that take batches now."""
        ...

    def submit(self, jobs: Sequence[Job], slot: Slot, tick: Callable[[], None]) -> Future[list[MatchRecord]]:
        """Start a batch; its future gives those records of its first jobs that `results` has not given.

        When the slot dies, the futures of all its batches fail with `WorkerLostError` at once. A future
        can be cancelled as long as no match of its batch has begun.

        Args:
            jobs: the matches.
            slot: where they are played.
            tick: called before each move while this process plays itself, so that it hears of orders.
        """
        ...

    def results(self) -> list[list[MatchRecord]]:
        """Return what came of batches still being played since the last call, part by part; never waits.

        Parts of a batch come in the order of its jobs, and before its future is done.
        """
        ...

    def news(self) -> list[Began]:
        """Take what the workers told since the last call; never waits."""
        ...

    def events(self) -> list[LiveEvent]:
        """Take what was told of running matches since the last call, without payload where one begins."""
        ...

    def notes(self) -> list[str]:
        """Return the notes on machines since the last call."""
        ...

    def put_aside(self, machine: str, why: str) -> str:
        """Hear that nothing is played on a machine for some time; return what people call it."""
        ...

    def stop(self) -> None:
        """Stop: no further match of any batch begins."""
        ...

    def go(self) -> None:
        """Let matches begin again after `stop`."""
        ...

    def abort(self) -> None:
        """End all running matches now; their batches give what they have, or fail with `WorkerLostError`."""
        ...

    def rebuild(self) -> None:
        """Start workers anew in place of dead ones."""
        ...

    def close(self) -> None:
        """End the workers and their bots."""
        ...


class InlinePool:
    """Plays in this process, one batch after the other; for tests and for people at the debugger."""

    batch_s = SEEN_S
    num_workers = 1

    def __init__(self, seats: WarmSeats | None = None, quiet_s: float | None = None) -> None:
        """Prepare to play.

        Args:
            seats: of those who play; None for bots that are started when they are needed.
            quiet_s: seconds of a match that are not told; None for those of a worker.
        """
        self._told: SimpleQueue[Began] = SimpleQueue()
        self._messages: SimpleQueue[bytes] = SimpleQueue()
        self._tick: Callable[[], None] = lambda: None
        self._is_stopping = self._is_aborting = False
        slot = Slot.here(0)
        ways = Ways(slot, self._told.put, self._must_stop, self._must_abort, publish=self._take)
        self._control = make_control(ways, seats=seats, quiet_s=quiet_s, is_threaded=False)

    def slots(self) -> list[Slot]:
        """Return the one slot."""
        return [self._control.ways.slot]

    def submit(self, jobs: Sequence[Job], slot: Slot, tick: Callable[[], None]) -> Future[list[MatchRecord]]:
        """Play the batch before returning."""
        del slot
        self._tick = tick
        future: Future[list[MatchRecord]] = Future()
        future.set_result(play_batch(jobs, self._control))
        return future

    def results(self) -> list[list[MatchRecord]]:
        """Return nothing: all records come with their batch."""
        return []

    def news(self) -> list[Began]:
        """Take what was told since the last call."""
        return drain(self._told)

    def events(self) -> list[LiveEvent]:
        """Take what was told, and what there is to tell now."""
        if self._control.teller is not None:
            self._control.teller.tell()
        return [event for message in drain(self._messages) for event in decode_events(message)]

    def notes(self) -> list[str]:
        """Return nothing: there is one machine."""
        return []

    def put_aside(self, machine: str, why: str) -> str:
        """Return what people call this machine."""
        del machine, why
        return "this machine"

    def stop(self) -> None:
        """Let no further match begin."""
        self._is_stopping = True

    def go(self) -> None:
        """Resume: matches begin again."""
        self._is_stopping = self._is_aborting

    def abort(self) -> None:
        """End the running match at its next move."""
        self._is_stopping = self._is_aborting = True

    def rebuild(self) -> None:
        """Do nothing: this process lives."""

    def close(self) -> None:
        """End the bots that were kept warm."""
        self._control.close()

    def _take(self, message: bytes) -> bool:
        self._messages.put(message)
        return True

    def _must_stop(self) -> bool:
        self._tick()
        return self._is_stopping

    def _must_abort(self) -> bool:
        self._tick()
        return self._is_aborting


def make_pool(executor: str, size: int, folder: Path) -> Pool:
    """Give the pool named `executor`, local or inline, for that many matches at once."""
    return InlinePool() if executor == "inline" else LocalPool(size, folder)

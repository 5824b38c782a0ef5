"""Pools, which execute batches of matches, report matches that start, and accept orders to stop."""

from __future__ import annotations

from concurrent.futures import Future
from queue import SimpleQueue
from typing import TYPE_CHECKING, Protocol

from arena.executor.channel import drain
from arena.executor.local import LocalPool
from arena.executor.slots import Slot
from arena.executor.streaming import decode_events
from arena.executor.worker import SEEN_S, Began, SlotCallbacks, make_control, play_batch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from arena.executor.job import Job
    from arena.executor.worker_seats import WarmSeats
    from arena_db.records import LiveEvent, MatchRecord


class Pool(Protocol):
    """An executor of batches; all implementations return the same records for the same jobs."""

    batch_s: float
    """Target duration of a batch in seconds."""

    @property
    def num_workers(self) -> int:
        """Number of batches that can be played at once when all slots are up."""
        ...

    def slots(self) -> Sequence[Slot]:
        """Return the slots that accept batches now."""
        ...

    def submit(self, jobs: Sequence[Job], slot: Slot, tick: Callable[[], None]) -> Future[list[MatchRecord]]:
        """Start a batch; its future returns the records that `results` has not returned.

        When the slot dies, the futures of all its batches fail with `WorkerLostError` at once. A future can
        be cancelled until a match of its batch has started.

        Args:
            jobs: the matches.
            slot: the slot that plays them.
            tick: called before each move if this process plays, so that it can process orders.
        """
        ...

    def results(self) -> list[list[MatchRecord]]:
        """Return the results of running batches since the last call, part by part, without waiting.

        Parts of a batch come in the order of its jobs, and before its future is done.
        """
        ...

    def news(self) -> list[Began]:
        """Return the matches that started since the last call, without waiting."""
        ...

    def events(self) -> list[LiveEvent]:
        """Return the live events since the last call; oversized payloads are reduced."""
        ...

    def notes(self) -> list[str]:
        """Return the notes on machines since the last call."""
        ...

    def put_aside(self, machine: str, why: str) -> str:
        """Note that a machine plays nothing for some time; return its display name."""
        ...

    def stop(self) -> None:
        """Start no further match of any batch."""
        ...

    def go(self) -> None:
        """Start matches again after `stop`."""
        ...

    def abort(self) -> None:
        """End all running matches now; their batches return their records or fail with `WorkerLostError`."""
        ...

    def rebuild(self) -> None:
        """Start new workers in place of dead ones."""
        ...

    def close(self) -> None:
        """Stop the workers and their bots."""
        ...


class InlinePool:
    """Plays in this process, one batch after the other; for tests and for debugging."""

    batch_s = SEEN_S
    num_workers = 1

    def __init__(self, seats: WarmSeats | None = None, quiet_s: float | None = None) -> None:
        """Prepare to play.

        Args:
            seats: seats of the bots; None starts bots when they are needed.
            quiet_s: seconds at the start of a match that are not streamed; None for the default of workers.
        """
        self._told: SimpleQueue[Began] = SimpleQueue()
        self._messages: SimpleQueue[bytes] = SimpleQueue()
        self._tick: Callable[[], None] = lambda: None
        self._is_stopping = self._is_aborting = False
        slot = Slot.here(0)
        callbacks = SlotCallbacks(slot, self._told.put, self._must_stop, self._must_abort, publish=self._take)
        self._control = make_control(callbacks, seats=seats, quiet_s=quiet_s, is_threaded=False)

    def slots(self) -> list[Slot]:
        """Return the one slot."""
        return [self._control.callbacks.slot]

    def submit(self, jobs: Sequence[Job], slot: Slot, tick: Callable[[], None]) -> Future[list[MatchRecord]]:
        """Play the batch before returning."""
        del slot
        self._tick = tick
        future: Future[list[MatchRecord]] = Future()
        # Done before it is returned: the run collects it at its next wait, as it does with other pools.
        future.set_result(play_batch(jobs, self._control))
        return future

    def results(self) -> list[list[MatchRecord]]:
        """Return no partial results: all records come with their batch."""
        return []

    def news(self) -> list[Began]:
        """Return the matches that started since the last call."""
        return drain(self._told)

    def events(self) -> list[LiveEvent]:
        """Return the events since the last call, including those that can be streamed now."""
        # No thread streams here. Since `_must_abort` lets the run tick before each move, a slow match is
        # still visible.
        if self._control.streamer is not None:
            self._control.streamer.send_new()
        return [event for message in drain(self._messages) for event in decode_events(message)]

    def notes(self) -> list[str]:
        """Return no notes: there is only this machine."""
        return []

    def put_aside(self, machine: str, why: str) -> str:
        """Return the display name of this machine."""
        del machine, why
        return "this machine"

    def stop(self) -> None:
        """Start no further match."""
        self._is_stopping = True

    def go(self) -> None:
        """Start matches again, unless the run is being aborted."""
        # An abort is final, even if the run is resumed after a pause that came before it.
        self._is_stopping = self._is_aborting

    def abort(self) -> None:
        """End the running match at its next move."""
        self._is_stopping = self._is_aborting = True

    def rebuild(self) -> None:
        """Do nothing: this process is alive."""

    def close(self) -> None:
        """Stop the warm bots."""
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
    """Return the pool named `executor` (`inline`, else local) for `size` matches at once."""
    return InlinePool() if executor == "inline" else LocalPool(size, folder)

"""Pools that compute shards: the protocol, and worker processes of this machine."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TYPE_CHECKING, Protocol

from arena.executor.local import LocalPool
from arena.executor.shards import call_shard
from arena.executor.slots import ShardFailedError, WorkerLostError
from arena.sandbox.resources import num_cores

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from arena.executor.shards import ShardCall
    from arena.executor.slots import Slot


class ShardPool(Protocol):
    """An executor of shards; all implementations return the same results for the same shards."""

    def slots(self) -> Sequence[Slot]:
        """Return the slots that can work now."""
        ...

    def submit(self, call: ShardCall, slot: Slot) -> Future[bytes]:
        """Start a shard at a slot.

        The future fails with `WorkerLostError` if the slot dies, `ShardFailedError` if the function raises an
        exception, `WrongResultError` if the result is damaged, `UnplayedError` or `PoolLostError` if the
        shard was not computed through no fault of its own.
        """
        ...

    def notes(self) -> list[str]:
        """Return the notes on machines since the last call."""
        ...

    def put_aside(self, machine: str, why: str) -> str:
        """Note that a machine computes nothing for some time; return its display name."""
        ...

    def grow(self, num: int) -> None:
        """Start slots until there are `num`, if this process starts them; never more than cores."""
        ...

    def rebuild(self) -> None:
        """Start new slots in place of dead ones."""
        ...

    def stop(self) -> None:
        """Start no further shard."""
        ...

    def go(self) -> None:
        """Start shards again after `stop`."""
        ...

    def abort(self) -> None:
        """End all running shards now."""
        ...

    def close(self) -> None:
        """End the slots, or disconnect from them."""
        ...


class LocalShards:
    """Computes shards in worker processes of this machine, started when they are needed."""

    def __init__(self, folder: Path) -> None:
        """Start no process yet; `folder` is for temporary files."""
        # The training waits for its shards, so they are as urgent as itself.
        self._pool = LocalPool(0, folder, nice=0)

    def slots(self) -> list[Slot]:
        """Return the slots whose processes are not known to be dead."""
        return self._pool.slots()

    def submit(self, call: ShardCall, slot: Slot) -> Future[bytes]:
        """Compute a shard in a worker process."""
        shard: Future[bytes] = Future()

        def end(done: Future[bytes]) -> None:
            # Called in the thread that serves the worker.
            error = done.exception()
            if error is None:
                shard.set_result(done.result())
            elif isinstance(error, WorkerLostError):
                shard.set_exception(error)
            else:
                shard.set_exception(ShardFailedError(f"{type(error).__name__}: {error}"))

        self._pool.call_on(slot, call_shard, call).add_done_callback(end)
        return shard

    def notes(self) -> list[str]:
        """Return no notes: there is only this machine."""
        return []

    def put_aside(self, machine: str, why: str) -> str:
        """Return the display name of this machine."""
        return self._pool.put_aside(machine, why)

    def grow(self, num: int) -> None:
        """Start processes until there are `num`, or as many as cores."""
        self._pool.grow(min(num, num_cores()))

    def rebuild(self) -> None:
        """Start new processes in place of dead ones."""
        self._pool.rebuild()

    def stop(self) -> None:
        """Do nothing: shards start only when they are submitted."""

    def go(self) -> None:
        """Do nothing, as `stop`."""

    def abort(self) -> None:
        """Kill the processes."""
        self._pool.abort()

    def close(self) -> None:
        """End the processes."""
        self._pool.close()

"""Executors for batches of matches, with a channel up for events and a flag down to stop."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from typing import TYPE_CHECKING, Any, Protocol

from arena.executor.worker import Control, begin_worker, play_batch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.executor.job import Job
    from arena.executor.worker import WorkerEvent
    from arena_db.records import MatchRecord


class Pool(Protocol):
    """Where batches are played; every implementation gives the same records for the same jobs."""

    num_workers: int
    """Batches that can be played at once."""

    def submit(self, jobs: Sequence[Job]) -> Future[list[MatchRecord]]:
        """Start a batch; its future gives one record per match played, fewer when it was stopped."""
        ...

    def events(self) -> list[WorkerEvent]:
        """Take what the workers told since the last call; never waits."""
        ...

    def stop(self) -> None:
        """Let no further match of any batch begin."""
        ...

    def abort(self) -> None:
        """End all running matches now."""
        ...

    def rebuild(self) -> None:
        """Start again after a worker died."""
        ...

    def close(self) -> None:
        """End the workers and their bots."""
        ...


class InlinePool:
    """Plays in this process, one batch after the other; for tests and for people at the debugger."""

    num_workers = 1

    def __init__(self) -> None:
        self._told: list[WorkerEvent] = []
        self._control = Control(self._told.append)

    def submit(self, jobs: Sequence[Job]) -> Future[list[MatchRecord]]:
        """Play the batch before returning."""
        future: Future[list[MatchRecord]] = Future()
        future.set_result(play_batch(jobs, self._control))
        return future

    def events(self) -> list[WorkerEvent]:
        """Take what was told since the last call."""
        told, self._told[:] = list(self._told), []
        return told

    def stop(self) -> None:
        """Let no further match begin."""
        self._control.stopping = True

    def abort(self) -> None:
        """End the running match at its next move."""
        self._control.stopping = self._control.aborting = True

    def rebuild(self) -> None:
        """Do nothing: this process lives."""

    def close(self) -> None:
        """End the bots that were kept warm."""
        self._control.close()


class LocalPool:
    """Plays in spawned worker processes on this machine."""

    def __init__(self, num_workers: int) -> None:
        self.num_workers = num_workers
        self._context = multiprocessing.get_context("spawn")
        # Shared without a lock: a worker that is killed can leave no lock behind. Small writes to a pipe are atomic.
        self._flag: Any = self._context.RawValue("b", 0)
        self._reader, self._writer = self._context.Pipe(duplex=False)
        self._pids: set[int] = set()
        self._executor = self._start()

    def _start(self) -> Executor:
        return ProcessPoolExecutor(
            self.num_workers,
            mp_context=self._context,
            initializer=begin_worker,
            initargs=(self._flag, self._writer, os.getpid()),
        )

    def submit(self, jobs: Sequence[Job]) -> Future[list[MatchRecord]]:
        """Hand the batch to a worker; after a worker died every future fails with `BrokenExecutor`."""
        return self._executor.submit(play_batch, list(jobs))

    def events(self) -> list[WorkerEvent]:
        """Take what the workers wrote."""
        told: list[WorkerEvent] = []
        while self._reader.poll():
            event: WorkerEvent = self._reader.recv()
            if event.kind == "worker":
                self._pids.add(event.number)
            else:
                told.append(event)
        return told

    def stop(self) -> None:
        """Let no further match begin."""
        self._flag.value = 1

    def abort(self) -> None:
        """Kill the workers; their bots die with them."""
        self.stop()
        self.events()
        for pid in self._pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)
        self._pids.clear()

    def rebuild(self) -> None:
        """Start fresh workers in place of the broken ones."""
        self.events()
        self._executor.shutdown(wait=True, cancel_futures=True)
        self._pids.clear()
        self._executor = self._start()

    def close(self) -> None:
        """End the workers."""
        self._executor.shutdown(wait=True, cancel_futures=True)
        self._reader.close()
        self._writer.close()


def make_pool(executor: str, concurrency: int) -> Pool:
    """Give the pool named `executor`, local or inline, for that many matches at once."""
    return InlinePool() if executor == "inline" else LocalPool(concurrency)


def num_workers(concurrency: int, cores: int) -> int:
    """Turn `--concurrency` into a number: 0 is cores - 1 (at least 1), -k is k fewer than that."""
    return concurrency if concurrency > 0 else max(1, cores - 1 + concurrency)


def num_cores() -> int:
    """Count the cores this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

"""Executors for batches of matches, with news of matches that begin, and orders to stop."""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import os
import signal
import sys
import threading
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Protocol, TypeVar

from arena.executor.channel import Channel, looker
from arena.executor.parcel import pack, unpack
from arena.executor.telling import Teller, decode_events
from arena.executor.worker import INTERRUPTS, Began, Control, begin_worker, play_batch
from arena.own import safe_path
from arena.sandbox.limits.exact import own_subtree
from arena.sandbox.resources import num_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from pathlib import Path

    from arena.executor.job import Job
    from arena.executor.parcel import Parcel
    from arena.executor.seats import WarmSeats
    from arena_db.records import LiveEvent, MatchRecord


_Given = TypeVar("_Given")
_Result = TypeVar("_Result")

_PATIENCE_S = 10.0
"""Seconds the workers have to end with their bots."""


class Pool(Protocol):
    """Where batches are played; every implementation gives the same records for the same jobs."""

    num_workers: int
    """Batches that can be played at once."""

    def submit(self, jobs: Sequence[Job], tick: Callable[[], None]) -> Future[list[MatchRecord]]:
        """Start a batch; its future gives the records of its first jobs.

        Args:
            jobs: the matches.
            tick: called before each move while this process plays itself, so that it hears of orders.

        Raises:
            BrokenExecutor: a worker died.
        """
        ...

    def news(self) -> list[Began]:
        """Take what the workers told since the last call; never waits."""
        ...

    def events(self) -> list[LiveEvent]:
        """Take what was told of running matches since the last call, without payload where one begins."""
        ...

    def stop(self) -> None:
        """Let no further match of any batch begin."""
        ...

    def go(self) -> None:
        """Let matches begin again after `stop`."""
        ...

    def abort(self) -> None:
        """End all running matches now; their batches give what they have, or fail with `BrokenExecutor`."""
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
        self._teller = Teller(self._take, quiet_s)
        self._control = Control(
            self._told.put, self._must_stop, self._must_abort, teller=self._teller, seats=seats
        )

    def submit(self, jobs: Sequence[Job], tick: Callable[[], None]) -> Future[list[MatchRecord]]:
        """Play the batch before returning."""
        self._tick = tick
        future: Future[list[MatchRecord]] = Future()
        future.set_result(play_batch(jobs, self._control))
        return future

    def news(self) -> list[Began]:
        """Take what was told since the last call."""
        return _taken(self._told)

    def events(self) -> list[LiveEvent]:
        """Take what was told, and what there is to tell now."""
        self._teller.tell()
        return [event for message in _taken(self._messages) for event in decode_events(message)]

    def stop(self) -> None:
        """Let no further match begin."""
        self._is_stopping = True

    def go(self) -> None:
        """Let matches begin again."""
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


def _taken(queue: SimpleQueue[_Given]) -> list[_Given]:
    """Return what a queue holds, and empty it; never wait."""
    found: list[_Given] = []
    with contextlib.suppress(Empty):
        while True:
            found.append(queue.get_nowait())
    return found


class LocalPool:
    """Plays in spawned worker processes on this machine."""

    def __init__(self, size: int, folder: Path) -> None:
        """Start a pool.

        Args:
            size: how many workers there are.
            folder: for their temporary files.
        """
        self.num_workers = size
        self._folder = folder
        self._context = multiprocessing.get_context("spawn")
        # A message in this pipe, which nobody reads before `go`, stops all workers. A file in the folder
        # would not once somebody has cleared the temporary files, nor a semaphore once a worker was killed
        # while it held it.
        self._stop_reader, self._stop_writer = self._context.Pipe(duplex=False)
        self._is_stopping = looker(self._stop_reader)
        # Small writes to a pipe are atomic, so a worker that is killed leaves no half of one.
        self._reader, self._writer = self._context.Pipe(duplex=False)
        self._has_news = looker(self._reader)
        self._channel = _channel()
        # The workers share the cgroup of this process: divided now, it is theirs to use.
        own_subtree()
        self._told: list[Began] = []
        self._pids: set[int] = set()
        self._executor = self._start()

    # Its first semaphore starts a process that counts them, each of its first tasks a worker.
    @safe_path()
    def _start(self) -> Executor:
        executor = ProcessPoolExecutor(
            self.num_workers,
            self._context,
            functools.partial(begin_worker, programs_roam=self.num_workers < num_workers(0, num_cores())),
            (
                *(str(self._folder), self._stop_reader, self._writer, os.getpid()),
                None if self._channel is None else self._channel.writer,
            ),
        )
        with _interrupts_blocked():
            for _ in range(self.num_workers):
                # Starts a worker. The executor does not notice the death of one that a task starts until the
                # next task comes, so all of them start before the first batch does.
                executor.submit(os.getpid)
        return executor

    def submit(self, jobs: Sequence[Job], tick: Callable[[], None]) -> Future[list[MatchRecord]]:
        """Hand the batch to a worker; after a worker died every future fails with `BrokenExecutor`."""
        del tick
        future: Future[list[MatchRecord]] = Future()
        self._executor.submit(_play_batch, list(jobs)).add_done_callback(functools.partial(_arrive, future))
        return future

    def call(self, function: Callable[[_Given], _Result], given: _Given) -> Future[_Result]:
        """Call a function of a module in a worker; its argument and its result are pickled."""
        return self._executor.submit(function, given)

    def news(self) -> list[Began]:
        """Take what the workers wrote."""
        self._read()
        told, self._told = self._told, []
        return told

    def events(self) -> list[LiveEvent]:
        """Take what the workers sent."""
        messages = [] if self._channel is None else self._channel.take()
        return [event for message in messages for event in decode_events(message)]

    def stop(self) -> None:
        """Let no further match begin."""
        if not self._is_stopping():
            self._stop_writer.send_bytes(b"stop")

    def go(self) -> None:
        """Let matches begin again."""
        if self._is_stopping():
            self._stop_reader.recv_bytes()

    def abort(self) -> None:
        """Kill the workers; their bots die with them."""
        self.stop()
        self._kill()

    def rebuild(self) -> None:
        """Start fresh workers in place of the broken ones."""
        self._executor.shutdown(wait=True, cancel_futures=True)
        self._read()
        self._pids.clear()
        self._executor = self._start()

    def close(self) -> None:
        """End the workers, after some seconds by force."""
        # One that is killed as it waits for a batch takes a lock with it, without which the others never end.
        is_done = threading.Event()
        killer = threading.Thread(target=self._kill_late, args=(is_done,), daemon=True)
        killer.start()
        self._executor.shutdown(wait=True, cancel_futures=True)
        is_done.set()
        killer.join()
        for end in (self._reader, self._writer, self._stop_reader, self._stop_writer):
            end.close()
        if self._channel is not None:
            self._channel.close()

    def _kill_late(self, is_done: threading.Event) -> None:
        while not is_done.wait(_PATIENCE_S):
            self._kill()

    def _kill(self) -> None:
        self._read()
        # A process that has ended leaves its number to others.
        for process in multiprocessing.active_children():
            if process.pid in self._pids:
                process.kill()
        self._pids.clear()

    def _read(self) -> None:
        while self._has_news():
            began = Began.decode(self._reader.recv_bytes())
            self._pids.add(began.worker)
            if began.number:
                self._told.append(began)


def _play_batch(jobs: Sequence[Job]) -> Parcel:
    return pack(play_batch(jobs))


def _arrive(future: Future[list[MatchRecord]], parcel: Future[Parcel]) -> None:
    """Fulfil `future` with what came from a worker, or with its failure."""
    try:
        future.set_result(unpack(parcel.result()))
    except Exception as error:  # noqa: BLE001 - whoever waits for it must hear of everything
        future.set_exception(error)


def _channel() -> Channel | None:
    """Make a channel; without one, which Windows lacks, matches are seen once they are over."""
    with contextlib.suppress(OSError):
        return Channel()
    return None


def make_pool(executor: str, size: int, folder: Path) -> Pool:
    """Give the pool named `executor`, local or inline, for that many matches at once."""
    return InlinePool() if executor == "inline" else LocalPool(size, folder)


def num_workers(concurrency: int, cores: int) -> int:
    """Turn `--concurrency` into a number: 0 is cores - 1 (at least 1), -k is k fewer than that."""
    return concurrency if concurrency > 0 else max(1, cores - 1 + concurrency)


@contextlib.contextmanager
def _interrupts_blocked() -> Generator[None]:
    """Block the interrupts of a terminal, in this process and in those it starts, within a `with` block."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

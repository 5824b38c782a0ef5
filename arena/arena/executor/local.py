"""Worker processes of this machine, one per slot, so that the death of one loses a single batch."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import deque
from concurrent.futures import Future
from multiprocessing.connection import wait
from multiprocessing.reduction import ForkingPickler
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from arena.executor.channel import Channel, make_poller
from arena.executor.cores import num_workers
from arena.executor.local_worker import (
    INTERRUPTS,
    NICE,
    WorkerSetup,
    decode_began,
    decode_records,
    play_task,
    run_worker,
)
from arena.executor.slots import Slot, WorkerLostError
from arena.executor.streaming import decode_events
from arena.executor.worker import BATCH_S, Began
from arena.own_python import safe_path
from arena.sandbox.limits.exact import own_subtree
from arena.sandbox.resources import num_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from multiprocessing.context import SpawnContext
    from multiprocessing.process import BaseProcess
    from pathlib import Path

    from arena.executor.job import Job
    from arena.executor.local_worker import Reply
    from arena_db.records import LiveEvent, MatchRecord


_Given = TypeVar("_Given")
_Result = TypeVar("_Result")

_PATIENCE_S = 10.0
"""Seconds that workers have to stop themselves and their bots, which have a second each, before they are
killed."""


class Task(NamedTuple):
    """A function for a worker to call, and the future that receives its result."""

    future: Future[Any]
    function: Callable[[Any], object]
    given: object
    read: Callable[[Any], object] | None = None
    """Converts the worker's message into the result; None uses the message itself."""


class TaskQueues:
    """Tasks that any worker may take, and results of running batches, shared by all workers of a pool."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        """Held for every access to a queue; notified when a queue grows or a worker is closed."""
        self.for_any: deque[Task] = deque()
        """Tasks that any worker may take."""
        self.parts: SimpleQueue[list[MatchRecord]] = SimpleQueue()
        """Results of batches that are still being played."""


class LocalWorker:
    """A worker process, and the thread of this process that sends it one task after the other.

    No other process holds an end of the pipe between them. So a message that a dying worker leaves half
    written is followed by the end of file, and the reader never blocks for the other half.
    """

    def __init__(self, slot: Slot, queues: TaskQueues, context: SpawnContext, setup: WorkerSetup) -> None:
        """Start process and thread; on Linux the process is killed when the thread that calls this ends."""
        self.slot = slot
        self._queues = queues
        self._tasks: deque[Task] = deque()
        self._is_closing = self._is_dead = False
        self._connection, other = context.Pipe()
        # This process closes its copy of the worker's end; otherwise the death of the worker would cause no
        # end of file, and the reader would wait for ever.
        with other:
            self._process: BaseProcess = context.Process(
                target=run_worker, name=f"slot-{slot.number}", args=(slot, other, setup)
            )
            self._process.start()
        self._thread = threading.Thread(target=self._serve, name=f"slot {slot.number}", daemon=True)
        self._thread.start()

    @property
    def is_dead(self) -> bool:
        """Whether its death was noticed."""
        return self._is_dead

    def submit(self, task: Task) -> None:
        """Queue a task for this worker; if that dies, the future fails with `WorkerLostError`."""
        with self._queues.changed:
            if self._is_dead:
                task.future.set_exception(WorkerLostError(self.slot))
                return
            self._tasks.append(task)
            self._queues.changed.notify_all()

    def kill(self) -> None:
        """Kill the process; its bots die with it."""
        # `kill` raises ValueError once the process was reaped and closed; its pid may be in use again by
        # then.
        with contextlib.suppress(ValueError):
            self._process.kill()

    def close(self) -> None:
        """End the process after its current task; pending tasks are cancelled."""
        with self._queues.changed:
            self._is_closing = True
            for task in self._tasks:
                task.future.cancel()
            self._tasks.clear()
            self._queues.changed.notify_all()

    def join(self, timeout: float | None = None) -> bool:
        """Wait for the end of process and thread; return whether both have ended."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _serve(self) -> None:
        while (task := self._next()) is not None:
            if not task.future.set_running_or_notify_cancel():
                continue
            try:
                message = ForkingPickler.dumps((task.function, task.given))
            except Exception as error:  # noqa: BLE001 - what cannot be pickled says so in many ways
                task.future.set_exception(error)
                continue
            try:
                self._connection.send_bytes(message)
                # One task at a time is sent and answered, so a reply needs no number.
                kind, body = self._reply()
                result = body if kind == "failed" or task.read is None else task.read(body)
            except Exception:  # noqa: BLE001 - it is gone, or sends what nobody can read
                self._die(task)
                break
            if kind == "failed":
                task.future.set_exception(body)
            else:
                task.future.set_result(result)
        # The worker reads the end of file and leaves its loop. Its exit status is collected here, by the only
        # thread that joins it.
        self._connection.close()
        self._process.join()
        # Another thread may be polling the process at this moment; `close` then raises ValueError.
        with contextlib.suppress(ValueError):
            self._process.close()

    def _next(self) -> Task | None:
        """Wait for a task; return None at the end."""
        with self._queues.changed:
            while True:
                if self._is_closing:
                    return None
                if self._tasks:
                    return self._tasks.popleft()
                if self._queues.for_any:
                    return self._queues.for_any.popleft()
                self._queues.changed.wait()

    def _reply(self) -> Reply:
        """Return the reply that ends a task; pass on the partial results before it.

        Raises:
            EOFError: the process died.
        """
        while True:
            # The sentinel wakes this thread when the process dies without closing the pipe.
            if self._connection not in wait([self._connection, self._process.sentinel]):
                raise EOFError
            reply: Reply = self._connection.recv()
            if reply.kind != "part":
                return reply
            self._queues.parts.put(decode_records(reply.body))

    def _die(self, task: Task) -> None:
        """Fail the task during which the process died, and those queued for it."""
        # The process may be alive, if only its reply could not be read.
        self.kill()
        with self._queues.changed:
            self._is_dead = True
            # Under the lock, so that no task is queued after the queue was emptied here.
            lost = [task, *self._tasks]
            self._tasks.clear()
        for each in lost:
            if each is task or each.future.set_running_or_notify_cancel():
                each.future.set_exception(WorkerLostError(self.slot))


class LocalPool:
    """A pool of spawned worker processes on this machine."""

    batch_s = BATCH_S

    def __init__(self, size: int, folder: Path, *, nice: int = NICE) -> None:
        """Start a pool.

        Args:
            size: number of workers.
            folder: for their temporary files.
            nice: their niceness.
        """
        self.num_workers = size
        self._context = multiprocessing.get_context("spawn")
        # A message in this pipe stops all workers, because it makes the pipe readable; only `go` reads it. A
        # flag file would be lost if the temporary files were deleted, and a semaphore would stay locked if a
        # worker were killed while holding it.
        self._stop_reader, self._stop_writer = self._context.Pipe(duplex=False)
        self._is_stopping = make_poller(self._stop_reader)
        # Writes to a pipe of at most PIPE_BUF bytes are atomic, so a killed worker leaves no partial message.
        # One pipe for all workers lets this process read the news of many matches at once instead of waking
        # up for each.
        self._reader, self._writer = self._context.Pipe(duplex=False)
        self._has_news = make_poller(self._reader)
        self._channel = _channel()
        # The workers share the cgroup of this process; once it is divided here, they can create subgroups.
        own_subtree()
        self._told: list[Began] = []
        self._queues = TaskQueues()
        self._setup = WorkerSetup(
            str(folder),
            self._stop_reader,
            self._writer,
            os.getpid(),
            None if self._channel is None else self._channel.writer,
            programs_roam=size < num_workers(0, num_cores()),
            nice=nice,
        )
        self._workers = self._start(range(size))

    # multiprocessing starts its resource tracker, a Python process as well, together with the first worker.
    @safe_path()
    def _start(self, numbers: Sequence[int]) -> list[LocalWorker]:
        with _interrupts_blocked():
            return [
                LocalWorker(Slot.here(number), self._queues, self._context, self._setup) for number in numbers
            ]

    def slots(self) -> list[Slot]:
        """Return the slots whose workers are not known to be dead."""
        return [worker.slot for worker in self._workers if not worker.is_dead]

    def submit(self, jobs: Sequence[Job], slot: Slot, tick: Callable[[], None]) -> Future[list[MatchRecord]]:
        """Send a batch to a worker; if that worker dies, the future fails with `WorkerLostError`."""
        del tick
        future: Future[list[MatchRecord]] = Future()
        worker = self._workers[slot.number]
        if worker.slot == slot:
            # Not the successor of the slot, which `rebuild` starts with the same number.
            worker.submit(Task(future, play_task, list(jobs), decode_records))
        else:
            future.set_exception(WorkerLostError(slot))
        return future

    def call(self, function: Callable[[_Given], _Result], given: _Given) -> Future[_Result]:
        """Call a module-level function in the first free worker; argument and result are pickled."""
        future: Future[_Result] = Future()
        with self._queues.changed:
            self._queues.for_any.append(Task(future, function, given))
            self._queues.changed.notify_all()
        return future

    def call_on(self, slot: Slot, function: Callable[[_Given], _Result], given: _Given) -> Future[_Result]:
        """Call a module-level function in one worker; if it dies, the future fails with `WorkerLostError`."""
        future: Future[_Result] = Future()
        worker = self._workers[slot.number]
        if worker.slot == slot:
            worker.submit(Task(future, function, given))
        else:
            future.set_exception(WorkerLostError(slot))
        return future

    def grow(self, size: int) -> None:
        """Start workers until there are `size`; there may be more already."""
        if size > self.num_workers:
            self._workers += self._start(range(self.num_workers, size))
            self.num_workers = size

    def results(self) -> list[list[MatchRecord]]:
        """Return the results of running batches that arrived since the last call."""
        found: list[list[MatchRecord]] = []
        while not self._queues.parts.empty():
            found.append(self._queues.parts.get())
        return found

    def news(self) -> list[Began]:
        """Return the matches that started since the last call."""
        self._read()
        told, self._told = self._told, []
        return told

    def events(self) -> list[LiveEvent]:
        """Return the events that the workers sent since the last call."""
        messages = [] if self._channel is None else self._channel.take()
        return [event for message in messages for event in decode_events(message)]

    def notes(self) -> list[str]:
        """Return no notes: there is only this machine."""
        return []

    def put_aside(self, machine: str, why: str) -> str:
        """Return the display name of this machine."""
        del machine, why
        return "this machine"

    def stop(self) -> None:
        """Start no further match."""
        if not self._is_stopping():
            # Never more than one message, so that one read in `go` empties the pipe.
            self._stop_writer.send_bytes(b"stop")

    def go(self) -> None:
        """Start matches again."""
        if self._is_stopping():
            self._stop_reader.recv_bytes()

    def abort(self) -> None:
        """Kill the workers; their bots die with them."""
        # First, so that no worker begins another match before it is killed.
        self.stop()
        for worker in self._workers:
            worker.kill()

    def rebuild(self) -> None:
        """Start new workers in place of the dead ones."""
        # Unread news of a dead worker would be attributed to its successor, which has the same number.
        self._read()
        dead = [worker.slot.number for worker in self._workers if worker.is_dead]
        for number, worker in zip(dead, self._start(dead), strict=True):
            self._workers[number] = worker

    def close(self) -> None:
        """Stop the workers; kill those that take more than a few seconds."""
        for worker in self._workers:
            worker.close()
        ends_at = time.monotonic() + _PATIENCE_S
        for worker in self._workers:
            while not worker.join(max(0.0, ends_at - time.monotonic())):
                worker.kill()
                worker.join(_PATIENCE_S)
        for task in self._queues.for_any:
            task.future.cancel()
        for end in (self._reader, self._writer, self._stop_reader, self._stop_writer):
            end.close()
        if self._channel is not None:
            self._channel.close()

    def _read(self) -> None:
        while self._has_news():
            number, match = decode_began(self._reader.recv_bytes())
            self._told.append(Began(self._workers[number].slot, match))


def _channel() -> Channel | None:
    """Return a new channel; None if this system has none: viewers then see matches after their end."""
    with contextlib.suppress(OSError):
        return Channel()
    return None


@contextlib.contextmanager
def _interrupts_blocked() -> Generator[None]:
    """Block the interrupts of a terminal within a `with` block, in this process and in those it starts."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

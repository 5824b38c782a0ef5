"""A worker process of this machine: its connection to the coordinator, and the loop that executes tasks."""

from __future__ import annotations

import functools
import multiprocessing
import os
import pickle
import signal
import struct
import sys
import tempfile
import traceback
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from arena.executor.channel import make_poller, send
from arena.executor.cores import Core
from arena.executor.parent import end_with_parent
from arena.executor.worker import Began, SlotCallbacks, make_control, play_batch
from arena.garbage import leave_garbage
from arena_db.records import MatchRecord

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence
    from multiprocessing.connection import Connection

    from arena.executor.job import Job
    from arena.executor.slots import Slot
    from arena.executor.worker import Control

INTERRUPTS = frozenset({signal.SIGINT} if sys.platform == "win32" else {signal.SIGINT, signal.SIGHUP})
"""Signals that a terminal sends to the whole process group; workers are started with them blocked, then
ignore them."""
_BEGAN = struct.Struct("<qq")
NICE = 10
"""Niceness of workers: the coordinator and the screens of viewers come first."""
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[MatchRecord])
_control: Control | None = None
"""The control of this worker process, set by `run_worker`."""


class WorkerSetup(NamedTuple):
    """Parameters that all worker processes of a pool get when they start."""

    folder: str
    """Folder for temporary files; the coordinator removes it."""
    stop_reader: Any
    """A Connection (its type differs by system). Once it is readable, no further match starts."""
    news_writer: Any
    """A Connection shared by all workers, which write to it the matches that they start."""
    coordinator: int
    """Process id of the coordinator."""
    channel: socket.socket | None
    """Receives the stream of running matches; None if this system has no channel."""
    programs_roam: bool
    """Whether bots that are programs may use all cores; see `Core`."""
    nice: int = NICE
    """Niceness of the workers."""


class Reply(NamedTuple):
    """A message that a worker sends through its own pipe."""

    kind: str
    """`part` for results of a running batch; `done` or `failed` at the end of a task."""
    body: Any
    """Encoded records, the return value of the task, or the exception it raised."""


def encode_began(number: int, match: int) -> bytes:
    """Encode that a slot starts a match, in 16 bytes.

    A pipe takes so short a message whole or not at all. Workers can therefore share one pipe: a killed worker
    leaves no partial message.
    """
    return _BEGAN.pack(number, match)


def decode_began(data: bytes) -> tuple[int, int]:
    """Return the number of a slot and the match that it starts."""
    number, match = _BEGAN.unpack(data)
    return number, match


def decode_records(data: bytes) -> list[MatchRecord]:
    """Decode the results that a worker sent."""
    return _decoder.decode(data)


def play_task(jobs: Sequence[Job]) -> bytes:
    """Play a batch in a worker process; return the results that were not delivered meanwhile, encoded."""
    if _control is None:
        raise RuntimeError("batches are played by worker processes")
    return _encoder.encode(play_batch(jobs, _control))


def run_worker(slot: Slot, connection: Connection[Any, Any], setup: WorkerSetup) -> None:
    """Execute tasks of the coordinator one after the other until it closes the connection.

    Args:
        slot: identity of this process.
        connection: receives tasks (a function and its argument) and sends each `Reply`.
        setup: the same for all workers of the pool.
    """
    global _control  # noqa: PLW0603 - one worker is one process
    _tie(setup.coordinator, setup.nice)
    # The coordinator removes the folder, even if this process is killed.
    tempfile.tempdir = setup.folder
    # A bot that inherited the pipe would keep it open, and the death of this process would go unnoticed.
    if sys.platform != "win32":
        os.set_inheritable(connection.fileno(), False)  # noqa: FBT003 - it takes no name

    def tell(began: Began) -> None:
        setup.news_writer.send_bytes(encode_began(began.slot.number, began.number))

    def deliver(records: list[MatchRecord]) -> None:
        connection.send(Reply("part", _encoder.encode(records)))

    must_stop = make_poller(setup.stop_reader)
    callbacks = SlotCallbacks(
        slot,
        tell,
        must_stop=lambda: bool(must_stop()),
        deliver=deliver,
        publish=None if setup.channel is None else functools.partial(send, setup.channel),
    )
    _control = make_control(callbacks, Core(programs_roam=setup.programs_roam))
    try:
        while True:
            function, given = connection.recv()
            connection.send(_reply(function, given))
    except (EOFError, OSError):  # the coordinator closed the connection or died
        pass
    finally:
        _control.close()
        leave_garbage()


def _reply(function: Callable[[Any], object], given: object) -> Reply:
    try:
        return Reply("done", function(given))
    except BaseException as error:  # noqa: BLE001 - the caller must receive every failure
        error.add_note(traceback.format_exc())
        try:
            # Some exceptions can be pickled but not read again. The coordinator would take that for a broken
            # worker.
            pickle.loads(pickle.dumps(error))  # noqa: S301 - pickled by this process
        except Exception:  # noqa: BLE001 - an exception of a plugin may refuse in any way
            return Reply("failed", RuntimeError(traceback.format_exc()))
        return Reply("failed", error)


def _tie(coordinator: int, nice: int) -> None:
    """Ignore Ctrl-C, which the coordinator handles, and end this process when the coordinator ends."""
    for interrupt in INTERRUPTS:
        signal.signal(interrupt, signal.SIG_IGN)
    if sys.platform != "win32":
        # Ignored before they are unblocked: an interrupt that arrived meanwhile would end this process.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPTS)
        os.nice(nice)
    end_with_parent(coordinator, _await_coordinator)


def _await_coordinator() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()

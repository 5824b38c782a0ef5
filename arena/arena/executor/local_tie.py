"""A worker process of this machine: its ties to the coordinator, and the loop that obeys it."""

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

from arena.executor.channel import looker, send
from arena.executor.cores import Core
from arena.executor.parent import end_with_parent
from arena.executor.worker import Began, Ways, make_control, play_batch
from arena_db.records import MatchRecord

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence
    from multiprocessing.connection import Connection

    from arena.executor.job import Job
    from arena.executor.slots import Slot
    from arena.executor.worker import Control

INTERRUPTS = frozenset({signal.SIGINT} if sys.platform == "win32" else {signal.SIGINT, signal.SIGHUP})
"""Signals that a terminal sends to all it runs; workers ignore them, and are started with them blocked."""
_BEGAN = struct.Struct("<qq")
_NICE = 10
"""Workers stand back behind the coordinator and the screens of people who watch."""
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[MatchRecord])
_control: Control | None = None
"""Of this worker process, set by `run_worker`."""


class WorkerSetup(NamedTuple):
    """What all worker processes of a pool are given as they start."""

    folder: str
    """For temporary files; the coordinator removes it."""
    stop_reader: Any
    """A Connection, which has another type on each system: once it can be read, no further match begins."""
    news_writer: Any
    """The same; all workers write to it which matches begin."""
    coordinator: int
    """The process id of the coordinator."""
    channel: socket.socket | None
    """Takes what is streamed of matches; None where there is no way for that."""
    programs_roam: bool
    """See `Core`."""


class Reply(NamedTuple):
    """What a worker sends up its own pipe."""

    kind: str
    """`part` for results of a batch that goes on, `done` or `failed` at the end of a task."""
    body: Any
    """Encoded records, what the task returned, or what it raised."""


def encode_began(number: int, match: int) -> bytes:
    """Return that a slot begins a match as so few bytes that a pipe takes them at once or not at all.

    So workers can share the pipe: one that is killed leaves no half of a message.
    """
    return _BEGAN.pack(number, match)


def decode_began(data: bytes) -> tuple[int, int]:
    """Return the number of a slot and the match that it begins."""
    number, match = _BEGAN.unpack(data)
    return number, match


def decode_records(data: bytes) -> list[MatchRecord]:
    """Return the results that a worker sent."""
    return _decoder.decode(data)


def play_task(jobs: Sequence[Job]) -> bytes:
    """Play a batch in a worker process; return the results that were not delivered meanwhile, encoded."""
    if _control is None:
        raise RuntimeError("batches are played by worker processes")
    return _encoder.encode(play_batch(jobs, _control))


def run_worker(slot: Slot, connection: Connection[Any, Any], setup: WorkerSetup) -> None:
    """Do what the coordinator asks for, one task after the other, until it closes the connection.

    Args:
        slot: which slot this process is.
        connection: takes tasks down, as functions and their arguments, and each `Reply` up.
        setup: the same for all workers of the pool.
    """
    global _control  # noqa: PLW0603 - one worker is one process
    _tie(setup.coordinator)
    tempfile.tempdir = setup.folder
    # A bot that kept it would hide the death of this process.
    if sys.platform != "win32":
        os.set_inheritable(connection.fileno(), False)  # noqa: FBT003 - it takes no name

    def tell(began: Began) -> None:
        setup.news_writer.send_bytes(encode_began(began.slot.number, began.number))

    def deliver(records: list[MatchRecord]) -> None:
        connection.send(Reply("part", _encoder.encode(records)))

    must_stop = looker(setup.stop_reader)
    ways = Ways(
        slot,
        tell,
        must_stop=lambda: bool(must_stop()),
        deliver=deliver,
        publish=None if setup.channel is None else functools.partial(send, setup.channel),
    )
    _control = make_control(ways, Core(programs_roam=setup.programs_roam))
    try:
        while True:
            function, given = connection.recv()
            connection.send(_reply(function, given))
    except (EOFError, OSError):  # the coordinator needs this worker no more, or died
        pass
    finally:
        _control.close()


def _reply(function: Callable[[Any], object], given: object) -> Reply:
    try:
        return Reply("done", function(given))
    except BaseException as error:  # noqa: BLE001 - whoever waits for it must hear of everything
        error.add_note(traceback.format_exc())
        try:
            pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
        except Exception:  # noqa: BLE001 - an exception of a plugin may refuse in any way
            return Reply("failed", RuntimeError(traceback.format_exc()))
        return Reply("failed", error)


def _tie(coordinator: int) -> None:
    """Leave Ctrl-C to the coordinator, and end this process with the coordinator."""
    for interrupt in INTERRUPTS:
        signal.signal(interrupt, signal.SIG_IGN)
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPTS)
        os.nice(_NICE)
    end_with_parent(coordinator, _await_coordinator)


def _await_coordinator() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()

"""What a worker does: plays batches of matches; pure data in, pure data out, no store in sight."""

from __future__ import annotations

import atexit
import ctypes
import functools
import multiprocessing
import os
import signal
import struct
import sys
import tempfile
import threading
import time
import traceback
from typing import TYPE_CHECKING, Any, NamedTuple

from arena.errors import ArenaError
from arena.executor.channel import looker, send
from arena.executor.cores import Core
from arena.executor.job import cached_adjudicator, cached_game
from arena.executor.logs import keep_log
from arena.executor.prints import keep_output, listen
from arena.executor.record import record_of, void_record
from arena.executor.seats import WarmSeats
from arena.executor.telling import Teller, controls_of
from arena.executor.workspace import mend
from arena.match import MatchSetup, play_match
from arena.sandbox.limits.exact import check_limits
from arena.sandbox.tier import Tier
from arena_plugins import Termination

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence

    from arena.executor.job import Job
    from arena_db.records import MatchRecord

BATCH_S = 2.0
"""Seconds until a batch begins no match: long enough to hide what sending costs, short enough to lose."""
SEEN_S = 0.25
"""The same once a match was slow enough to be watched: who saw its last move waits for its end."""
INTERRUPTS = frozenset({signal.SIGINT} if sys.platform == "win32" else {signal.SIGINT, signal.SIGHUP})
"""Signals that a terminal sends to all it runs; workers ignore them, and are started with them blocked."""
_BEGAN = struct.Struct("<qq")
_PR_SET_PDEATHSIG = 1
_NICE = 10
"""Workers stand back behind the coordinator and the screens of people who watch."""


class Began(NamedTuple):
    """What a worker tells the coordinator while it plays."""

    worker: int
    """Its process id."""
    number: int
    """The match that begins; 0 when the worker is up."""

    def encode(self) -> bytes:
        """Give it as so few bytes that a pipe takes them at once or not at all."""
        return _BEGAN.pack(*self)

    @classmethod
    def decode(cls, data: bytes) -> Began:
        """Read what `encode` wrote."""
        return cls(*_BEGAN.unpack(data))


class Control:
    """What ties a worker to the coordinator, news up and orders down, and the bots it keeps warm."""

    def __init__(  # noqa: PLR0913 - the ways up and down, and who plays
        self,
        tell: Callable[[Began], None],
        must_stop: Callable[[], bool] = lambda: False,
        must_abort: Callable[[], bool] = lambda: False,
        core: Core | None = None,
        teller: Teller | None = None,
        *,
        seats: WarmSeats | None = None,
    ) -> None:
        """Take the two ways.

        Args:
            tell: hears of every match that begins.
            must_stop: asked before each match; then no further one begins.
            must_abort: asked before each move; then the match ends.
            core: what this process and its bots may settle on; None lets the system choose.
            teller: tells of matches while they are played; None leaves it at their results.
            seats: of those who play; None for bots that are started when they are needed.
        """
        self.tell = tell
        self.must_stop = must_stop
        self.must_abort = must_abort
        self.teller = teller
        self.seats = WarmSeats(core) if seats is None else seats

    def close(self) -> None:
        """End all bots."""
        self.seats.close()
        if self.teller is not None:
            self.teller.close()


_control: Control | None = None
"""Of this worker process, set by `begin_worker`."""


def begin_worker(  # noqa: PLR0913 - what a process is given as it starts
    folder: str,
    stop_reader: Any,  # noqa: ANN401 - as the next one
    writer: Any,  # noqa: ANN401 - a Connection, which has another type on each system
    coordinator: int,
    channel: socket.socket | None = None,
    *,
    programs_roam: bool,
) -> None:
    """Set this process up as a worker: Ctrl-C is the coordinator's affair, and its death is ours.

    Args:
        folder: for temporary files; the coordinator removes it.
        stop_reader: once something can be read from it, no further match begins; it stays unread.
        writer: takes each `Began`.
        coordinator: the process id of the coordinator.
        channel: takes what is told of matches while they are played; None where there is no way for that.
        programs_roam: see `Core`.
    """
    global _control  # noqa: PLW0603 - one worker is one process
    for interrupt in INTERRUPTS:
        signal.signal(interrupt, signal.SIG_IGN)
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPTS)
        os.nice(_NICE)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    else:
        threading.Thread(target=_end_with_coordinator, daemon=True).start()
    # The coordinator may have died before.
    if os.getppid() != coordinator:
        os._exit(1)
    tempfile.tempdir = folder

    def tell(began: Began) -> None:
        writer.send_bytes(began.encode())

    teller = None if channel is None else Teller(functools.partial(send, channel))
    core = Core(programs_roam=programs_roam)
    must_stop = looker(stop_reader)
    _control = Control(tell, lambda: bool(must_stop()), core=core, teller=teller)
    if teller is not None:
        teller.run()
    atexit.register(_control.close)
    tell(Began(os.getpid(), 0))


def _end_with_coordinator() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def play_batch(jobs: Sequence[Job], control: Control | None = None) -> list[MatchRecord]:
    """Play matches one after the other.

    Fewer records than jobs come back when the run was stopped meanwhile, or when the batch took too long;
    they are those of the first jobs.
    """
    here = control or _control
    if here is None:
        raise RuntimeError("play_batch needs a control outside of a worker process")
    records: list[MatchRecord] = []
    began = time.monotonic()
    ends_at = began + BATCH_S
    for job in jobs:
        if here.must_stop() or time.monotonic() >= ends_at:
            break
        _renew(here)
        here.tell(Began(os.getpid(), job.number))
        record = play_job(job, here)
        if _renew(here) and Termination(record.termination).is_fault:
            # No bot is to blame for a folder that went while it was started, or while it wrote to it.
            record = void_record(job, Termination.ARENA_ERROR, "its temporary files were removed")
        records.append(record)
        if here.teller is not None and here.teller.has_told:
            ends_at = min(ends_at, began + SEEN_S)
    return records


def _renew(control: Control) -> bool:
    """Start bots anew once somebody cleared the temporary files away; return whether that was so."""
    is_new = mend()
    if is_new:
        control.seats.close()
    return is_new


def play_job(job: Job, control: Control) -> MatchRecord:
    """Play one match with the bots that are warm; an error of the arena makes it void.

    Raises:
        PluginError: there is no such game.
    """
    game = cached_game(job.game)
    try:
        check_limits(job.require_limits, Tier(job.tier))
        seats = (
            control.seats.of(job.first, game.name, job.tier),
            control.seats.of(job.second, game.name, job.tier),
        )
        adjudicate = cached_adjudicator(job.game, job.adjudicate)
    except ArenaError as error:
        return void_record(job, Termination.ARENA_ERROR, str(error))
    except Exception:  # noqa: BLE001 - a bug of the arena must cost this match only
        return void_record(job, Termination.ARENA_ERROR, traceback.format_exc())
    listen(job, seats)
    setup = MatchSetup(
        id=job.match,
        labels=(job.first.label, job.second.label),
        seeds=(job.seed_first, job.seed_second),
        controls=controls_of(job),
        opening=job.opening,
        init_s=job.init_s,
    )
    teller = control.teller
    try:
        result = play_match(
            game,
            seats,
            setup,
            on_ready=None if teller is None else functools.partial(teller.begin, job),
            on_info=None if teller is None else teller.think,
            abort=control.must_abort,
            adjudicate=adjudicate,
            stalls_count=job.stalls_count,
        )
    finally:
        if teller is not None:
            teller.end()
    keep_log(job, seats, result)
    keep_output(job, seats, result)
    return record_of(job, result)

"""What a worker does: plays batches of matches; pure data in, pure data out, no store in sight."""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from arena.executor.record import record_of
from arena.executor.seats import WarmSeats
from arena.match import MatchSetup, play_match
from arena_plugins import load_game

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from multiprocessing.connection import Connection

    from arena.executor.job import Job
    from arena_db.records import MatchRecord
    from arena_plugins import Game

_PR_SET_PDEATHSIG = 1
_NICE = 10
"""Workers stand back behind the coordinator and the screens of people who watch."""


class WorkerEvent(msgspec.Struct, frozen=True):
    """What a worker tells the coordinator while it plays."""

    kind: str
    """worker (its process id is the number) or began (a match)."""
    number: int
    first: str = ""
    second: str = ""


class Control:
    """What ties a worker to the coordinator: events up, stop and abort down, and the bots it keeps."""

    def __init__(self, tell: Callable[[WorkerEvent], None]) -> None:
        self.tell = tell
        self.seats = WarmSeats()
        self.stopping = False
        """No further match begins."""
        self.aborting = False
        """The running match ends at its next move."""

    def must_stop(self) -> bool:
        """Tell whether no further match may begin."""
        return self.stopping

    def must_abort(self) -> bool:
        """Tell whether the running match must end."""
        return self.aborting

    def close(self) -> None:
        """End all bots."""
        self.seats.close()


class _SharedControl(Control):
    """The control of a worker process; the coordinator sets the flag in shared memory."""

    def __init__(self, flag: Any, tell: Callable[[WorkerEvent], None]) -> None:  # noqa: ANN401 - a ctypes value
        super().__init__(tell)
        self._flag = flag

    def must_stop(self) -> bool:
        return bool(self._flag.value)


_control: Control | None = None
"""Of this worker process, set by `begin_worker`."""


def begin_worker(flag: Any, writer: Connection, coordinator: int) -> None:  # noqa: ANN401 - a ctypes value
    """Set this process up as a worker: Ctrl-C is the coordinator's affair, and its death is ours."""
    global _control  # noqa: PLW0603 - one worker is one process
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if sys.platform != "win32":
        if os.getppid() != coordinator:
            os._exit(1)
        os.nice(_NICE)
    _control = _SharedControl(flag, writer.send)
    atexit.register(_control.close)
    writer.send(WorkerEvent("worker", os.getpid()))


def play_batch(jobs: Sequence[Job], control: Control | None = None) -> list[MatchRecord]:
    """Play matches one after the other; fewer records than jobs come back when the run was stopped meanwhile."""
    here = control or _control
    if here is None:
        raise RuntimeError("play_batch needs a control outside of a worker process")
    records: list[MatchRecord] = []
    for job in jobs:
        if here.must_stop():
            break
        here.tell(WorkerEvent("began", job.number, job.first.label, job.second.label))
        records.append(play_job(job, here))
    return records


def play_job(job: Job, control: Control) -> MatchRecord:
    """Play one match with the bots that are warm."""
    game = _game(job.game)
    seats = (
        control.seats.of(job.first, game.name, job.tier),
        control.seats.of(job.second, game.name, job.tier),
    )
    setup = MatchSetup(
        id=job.match,
        labels=(job.first.label, job.second.label),
        seeds=(job.seed_first, job.seed_second),
        controls=(job.first.limit or job.limit, job.second.limit or job.limit),
        opening=job.opening,
        init_s=job.init_s,
    )
    return record_of(job, game, play_match(game, seats, setup, abort=control.must_abort))


@cache
def _game(spec: str) -> Game:
    return load_game(spec)

"""What follows when a connection to the scheduler is lost while it lives on, and when it sleeps or dies."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import wait
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from arena.errors import ArenaError
from arena.executor.cluster import private
from arena.executor.cluster.key_files import SchedulerPlace
from arena.executor.cluster.pool import ClusterPool
from arena.executor.cluster.private import PrivateCluster
from arena.executor.slots import PoolLostError, WorkerLostError
from arena.own_python import own_python
from cluster_pools import (
    DEADLINE_S,
    SIX,
    WANTED,
    await_true,
    begin,
    joined,
    nothing,
    play_all,
    slot_pids,
    waiting,
)
from loopback_machines import Delay

if TYPE_CHECKING:
    from cluster_pools import JobsOf

SCHEDULER = """
from arena.executor.cluster import dask_settings
dask_settings._SETTINGS["distributed.scheduler.worker-ttl"] = "2s"
from arena.executor.cluster.scheduler import main
main()
"""
OPEN = Path("/proc/self/fd")
SILENT_S = 5.0
"""Dask waits for ten heartbeats, too."""


def test_a_run_goes_on_over_another_connection(
    jobs_of: JobsOf, cluster: PrivateCluster, tmp_path: Path
) -> None:
    line = Delay(int(cluster.place.address.rpartition(":")[2]), 0)
    place = SchedulerPlace(f"tls://127.0.0.1:{line.port}", cluster.place.key)
    with closing(ClusterPool(place, WANTED)) as pool:
        await_true(lambda: len(pool.slots()) == 2, "slots do not join")
        future = begin(pool, waiting(jobs_of, tmp_path), pool.slots()[0])
        line.cut()
        assert isinstance(future.exception(DEADLINE_S), PoolLostError)
        (tmp_path / "gate").touch()
        await_true(lambda: len(pool.slots()) == 2, "no connection is made again")
        played: set[int] = set()
        for slot in pool.slots():
            # A slot may be killed meanwhile, since its match was aborted.
            wait([pool.submit(jobs_of(SIX), slot, nothing)], DEADLINE_S)
            played |= {record.number for part in pool.results() for record in part}
        assert played == {1, 2, 3, 4, 5, 6}


def test_a_scheduler_that_slept_does_not_take_its_slots_for_silent(
    jobs_of: JobsOf, cluster: PrivateCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del cluster  # its environment

    def own(*words: str) -> list[str]:
        return own_python("-c", SCHEDULER) if words[-1].endswith(".scheduler") else own_python(*words)

    monkeypatch.setattr(private, "own_python", own)
    with closing(PrivateCluster(1, tmp_path)) as short, joined(short, 1) as pool:
        (slot,) = pool.slots()
        future = begin(pool, waiting(jobs_of, tmp_path), slot)
        os.kill(short.pids[0], signal.SIGSTOP)
        time.sleep(SILENT_S + 2)
        os.kill(short.pids[0], signal.SIGCONT)
        time.sleep(3)
        assert not future.done()
        assert pool.slots() == [slot]
        os.kill(slot_pids(short)[0], signal.SIGSTOP)
        assert isinstance(future.exception(DEADLINE_S), WorkerLostError), "a silent slot is lost"
        os.kill(slot_pids(short)[0], signal.SIGKILL)


def test_a_private_scheduler_that_dies_starts_again_until_it_dies_too_often(
    jobs_of: JobsOf, cluster: PrivateCluster, tmp_path: Path
) -> None:
    del cluster  # its environment
    with (
        closing(PrivateCluster(1, tmp_path)) as own,
        closing(ClusterPool(own.place, WANTED, cluster=own)) as pool,
    ):
        await_true(pool.slots, "the slot does not join")
        old = pool.slots()
        assert len(play_all(pool, jobs_of(SIX))) == 6
        pool.notes()
        os.kill(own.pids[0], signal.SIGKILL)
        await_true(lambda: pool.slots() not in ([], old), "the slot does not return")
        assert len(play_all(pool, jobs_of(SIX))) == 6
        gone, back = [note for note in pool.notes() if "scheduler" in note]
        assert gone.startswith("the scheduler of --cluster local:N is gone; it starts again, and matches")
        assert back == "the scheduler of --cluster local:N is back"
        told = ""

        def has_given_up() -> bool:
            nonlocal told
            if not own.find_death():
                os.kill(own.pids[0], signal.SIGKILL)
            try:
                pool.slots()
            except ArenaError as error:
                told = str(error)
            return bool(told)

        await_true(has_given_up, "it starts for ever")
    scheduler = "the scheduler of --cluster local:N"
    assert told == f"{scheduler} ended with -9, 5 times in a row; arena resume continues the run"


def test_a_private_scheduler_that_does_not_start_leaves_no_pipe_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def own(*_: str) -> list[str]:
        return own_python("-c", "exit('it is broken')")

    monkeypatch.setattr(private, "own_python", own)
    before = len(list(OPEN.iterdir()))
    with pytest.raises(ArenaError, match="local:N does not start: it is broken") as raised:
        PrivateCluster(1, tmp_path)
    # The traceback keeps the cluster alive, so the pipe is not closed by chance.
    assert len(list(OPEN.iterdir())) == before
    assert raised.tb is not None

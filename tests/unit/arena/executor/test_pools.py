from __future__ import annotations

import dataclasses
import multiprocessing
import os
import shutil
import signal
import time
from concurrent.futures import wait
from typing import TYPE_CHECKING

import pytest

from arena.executor import local as local_module
from arena.executor.cores import num_workers
from arena.executor.local import LocalPool
from arena.executor.local_worker import decode_began, encode_began
from arena.executor.pools import InlinePool, make_pool
from arena.executor.slots import WorkerLostError
from arena.sandbox.resources import num_cores
from tournaments import TRIO, config

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from arena.coordinator.config import TournamentConfig
    from arena.executor.job import Job
    from arena.executor.pools import Pool
    from arena.executor.worker import Began
    from arena_db.records import MatchRecord

    JobsOf = Callable[[TournamentConfig], list[Job]]


def nothing() -> None:
    """Receive no orders."""


@pytest.fixture(params=["inline", "local"])
def pool(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pool]:
    pool = make_pool(request.param, 2, tmp_path)
    yield pool
    pool.close()


@pytest.fixture
def local(tmp_path: Path) -> Iterator[LocalPool]:
    pool = LocalPool(2, tmp_path)
    yield pool
    pool.close()


def moves(records: list[MatchRecord]) -> list[object]:
    return [dataclasses.replace(record, started_at=0, duration_ms=0, times_ms=()) for record in records]


def await_news(pool: Pool, num: int) -> list[Began]:
    news: list[Began] = []
    deadline = time.monotonic() + 30
    while len(news) < num and time.monotonic() < deadline:
        news += pool.news()
        time.sleep(0.005)
    return news


def play(pool: Pool, jobs: Sequence[Job]) -> list[MatchRecord]:
    """Play one batch in the first slot; return all its results."""
    future = pool.submit(jobs, pool.slots()[0], nothing)
    wait([future], 60)
    return [record for part in (*pool.results(), future.result(0)) for record in part]


def play_all(pool: Pool, *batches: Sequence[Job]) -> list[MatchRecord]:
    """Play batches in parallel; also play what a slow machine left of one."""
    slots = pool.slots()
    futures = [pool.submit(jobs, slots[at % len(slots)], nothing) for at, jobs in enumerate(batches)]
    wait(futures, 60)
    parts = [*pool.results(), *(future.result(0) for future in futures)]
    found = {record.number: record for part in parts for record in part}
    wanted = [job for jobs in batches for job in jobs]
    while left := [job for job in wanted if job.number not in found]:
        found.update((record.number, record) for record in play(pool, left))
    return [found[job.number] for job in wanted]


def test_all_pools_give_the_same_records(jobs_of: JobsOf, pool: Pool) -> None:
    jobs = jobs_of(config(*TRIO))
    records = play_all(pool, jobs[:4], jobs[4:])
    here = InlinePool()
    assert moves(records) == moves(play_all(here, jobs))
    here.close()
    assert sorted(number for _, number in pool.news()) == [1, 2, 3, 4, 5, 6]
    assert pool.news() == []


def test_after_a_stop_no_match_begins(jobs_of: JobsOf, pool: Pool) -> None:
    pool.stop()
    assert play(pool, jobs_of(config(*TRIO))) == []


def test_an_abort_ends_matches_in_this_process(jobs_of: JobsOf) -> None:
    pool = InlinePool()
    records = pool.submit(jobs_of(config(*TRIO)), pool.slots()[0], pool.abort).result(0)
    assert records == []
    pool.rebuild()
    pool.close()


def test_an_abort_kills_workers(jobs_of: JobsOf, local: LocalPool, tmp_path: Path) -> None:
    jobs = jobs_of(config("random", f"strange:folder={tmp_path},wait=on"))
    future = local.submit(jobs, local.slots()[0], nothing)
    (began,) = await_news(local, 1)
    assert began == (local.slots()[0], 1)
    local.abort()
    local.abort()
    with pytest.raises(WorkerLostError):
        future.result(60)


def test_a_stop_reaches_workers_whose_folder_is_gone(jobs_of: JobsOf, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    pool = LocalPool(1, folder)
    jobs = jobs_of(config("random", f"strange:folder={tmp_path},wait=on"))
    pool.go()
    future = pool.submit(jobs, pool.slots()[0], nothing)
    await_news(pool, 1)
    shutil.rmtree(folder)
    pool.stop()
    pool.stop()
    (tmp_path / "gate").touch()
    assert [record.number for record in future.result(60)] == [1], "in flight, so it ends; no other begins"
    pool.go()
    assert [record.number for record in play(pool, jobs[1:])] == [2]
    assert folder.stat().st_mode & 0o777 == 0o711, "made again, as a root's bots need it"
    pool.close()


def victim(number: int) -> int:
    """Return the process id of a worker of the only pool, by its slot."""
    (found,) = [
        process.pid for process in multiprocessing.active_children() if process.name.endswith(f"-{number}")
    ]
    assert found is not None
    return found


def test_a_dead_worker_costs_its_own_batches(jobs_of: JobsOf, local: LocalPool, tmp_path: Path) -> None:
    jobs = jobs_of(config("random", f"strange:folder={tmp_path},wait=on", rounds=2))
    dying, other = local.slots()
    playing, waiting = (local.submit([job], dying, nothing) for job in jobs[:2])
    beside = local.submit([jobs[2]], other, nothing)
    assert {tuple(began) for began in await_news(local, 2)} == {(dying, 1), (other, 3)}
    os.kill(victim(dying.number), signal.SIGKILL)
    for future in (playing, waiting):
        error = future.exception(60)
        assert isinstance(error, WorkerLostError)
        assert error.slot == dying
    assert not beside.done()
    assert local.slots() == [other]
    late = local.submit([jobs[3]], dying, nothing)
    assert isinstance(late.exception(60), WorkerLostError)
    local.rebuild()
    successor, same = local.slots()
    assert (successor.number, same) == (dying.number, other)
    assert successor != dying
    late = local.submit([jobs[3]], dying, nothing)
    assert isinstance(late.exception(60), WorkerLostError), (
        "the slot has the number of the dead one, not its id"
    )
    (tmp_path / "gate").touch()
    assert [record.number for record in beside.result(60)] == [3]
    assert [record.number for record in play(local, jobs[:1])] == [1]
    assert local.news() == [(successor, 1)]


def test_a_batch_that_waits_can_be_taken_back(jobs_of: JobsOf, local: LocalPool, tmp_path: Path) -> None:
    jobs = jobs_of(config("random", f"strange:folder={tmp_path},wait=on"))
    slot = local.slots()[0]
    playing, waiting = (local.submit([job], slot, nothing) for job in jobs)
    await_news(local, 1)
    assert waiting.cancel()
    assert not playing.cancel()
    (tmp_path / "gate").touch()
    assert [record.number for record in playing.result(60)] == [1]
    assert [record.number for record in play(local, jobs[1:])] == [2]


def test_a_worker_that_died_idle_loses_the_next_batch(jobs_of: JobsOf, local: LocalPool) -> None:
    jobs = jobs_of(config(*TRIO))
    slot = local.slots()[0]
    assert len(play_all(local, jobs[:1])) == 1
    os.kill(victim(0), signal.SIGKILL)
    assert isinstance(local.submit(jobs, slot, nothing).exception(60), WorkerLostError)


@pytest.mark.parametrize("number", [0, 1, 63])
def test_news_survives_its_pipe(number: int) -> None:
    for match in (1, 2**63 - 1):
        assert decode_began(encode_began(number, match)) == (number, match)


def refuse(given: object) -> None:
    raise OSError(f"{given} is not to be had")


class StubbornError(Exception):
    def __init__(self, *, why: str) -> None:
        super().__init__(why)


def be_stubborn(why: str) -> None:
    raise StubbornError(why=why)


def test_what_a_called_function_raises_arrives(local: LocalPool) -> None:
    # An OSError of the function must not be mistaken for the end of its process.
    with pytest.raises(OSError, match="this is not to be had") as caught:
        local.call(refuse, "this").result(60)
    assert "in refuse" in "".join(caught.value.__notes__)
    with pytest.raises(RuntimeError, match="StubbornError: no"):
        local.call(be_stubborn, "no").result(60)
    with pytest.raises(Exception, match="pickle"):
        local.call(refuse, lambda: None).result(60)
    assert [local.call(abs, number).result(60) for number in (-1, -2)] == [1, 2]
    assert len(local.slots()) == 2


def test_workers_that_do_not_end_are_ended(
    jobs_of: JobsOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_module, "_PATIENCE_S", 0.2)
    pool = LocalPool(2, tmp_path)
    assert len(play(pool, jobs_of(config(*TRIO))[:1])) == 1
    workers = multiprocessing.active_children()
    assert len(workers) == 2
    for worker in workers:
        os.kill(worker.pid or 0, signal.SIGSTOP)
    pool.close()
    assert multiprocessing.active_children() == []


def test_workers_ignore_the_terminal(jobs_of: JobsOf, local: LocalPool, tmp_path: Path) -> None:
    jobs = jobs_of(config("random", f"strange:folder={tmp_path},wait=on"))
    future = local.submit(jobs[:1], local.slots()[0], nothing)
    await_news(local, 1)
    for number in (signal.SIGINT, signal.SIGHUP):
        os.kill(victim(0), number)
    (tmp_path / "gate").touch()
    assert len(future.result(60)) == 1


def test_concurrency() -> None:
    assert [num_workers(concurrency, 8) for concurrency in (0, 1, 12, -1, -6, -7, -99)] == [
        7,
        1,
        12,
        6,
        1,
        1,
        1,
    ]
    assert num_workers(0, 1) == 1
    assert 1 <= num_cores() <= (os.cpu_count() or 1)

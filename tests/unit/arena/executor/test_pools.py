from __future__ import annotations

import dataclasses
import multiprocessing
import os
import shutil
import signal
import time
from concurrent.futures import BrokenExecutor, wait
from typing import TYPE_CHECKING

import pytest

from arena.executor import pools
from arena.executor.pools import InlinePool, LocalPool, make_pool, num_workers
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
    """Hear of no orders."""


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


def play_all(pool: Pool, *batches: Sequence[Job]) -> list[MatchRecord]:
    """Play batches beside each other; where a slow machine leaves something of one, that is played, too."""
    futures = [pool.submit(jobs, nothing) for jobs in batches]
    records: list[MatchRecord] = []
    for jobs, future in zip(batches, futures, strict=True):
        played = future.result(60)
        while len(played) < len(jobs):
            played += pool.submit(jobs[len(played) :], nothing).result(60)
        records += played
    return records


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
    assert pool.submit(jobs_of(config(*TRIO)), nothing).result(60) == []


def test_an_abort_ends_matches_in_this_process(jobs_of: JobsOf) -> None:
    pool = InlinePool()
    records = pool.submit(jobs_of(config(*TRIO)), pool.abort).result(0)
    assert records == []
    pool.rebuild()
    pool.close()


def test_an_abort_kills_workers(jobs_of: JobsOf, local: LocalPool, tmp_path: Path) -> None:
    jobs = jobs_of(config("random", f"strange:folder={tmp_path},wait=on"))
    future = local.submit(jobs, nothing)
    (began,) = await_news(local, 1)
    assert began.number == 1
    local.abort()
    local.abort()
    with pytest.raises(BrokenExecutor):
        future.result(60)


def test_a_stop_reaches_workers_whose_folder_is_gone(jobs_of: JobsOf, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    pool = LocalPool(1, folder)
    jobs = jobs_of(config("random", f"strange:folder={tmp_path},wait=on"))
    pool.go()
    future = pool.submit(jobs, nothing)
    await_news(pool, 1)
    shutil.rmtree(folder)
    pool.stop()
    pool.stop()
    (tmp_path / "gate").touch()
    assert [record.number for record in future.result(60)] == [1], "in flight, so it ends; no other begins"
    pool.go()
    assert [record.number for record in pool.submit(jobs[1:], nothing).result(60)] == [2]
    assert folder.stat().st_mode & 0o777 == 0o711, "made again, as a root's bots need it"
    pool.close()


def test_a_dead_worker_breaks_the_pool_until_it_is_rebuilt(
    jobs_of: JobsOf, local: LocalPool, tmp_path: Path
) -> None:
    jobs = jobs_of(config("random", f"strange:folder={tmp_path},wait=on"))
    futures = [local.submit([job], nothing) for job in jobs]
    began, _ = await_news(local, 2)
    os.kill(began.worker, signal.SIGKILL)
    wait(futures, 30)
    assert all(isinstance(future.exception(0), BrokenExecutor) for future in futures)
    with pytest.raises(BrokenExecutor):
        local.submit(jobs, nothing)
    local.rebuild()
    (tmp_path / "gate").touch()
    assert len(local.submit(jobs, nothing).result(60)) == 2


def test_workers_that_do_not_end_are_ended(
    jobs_of: JobsOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "_PATIENCE_S", 0.2)
    pool = LocalPool(2, tmp_path)
    assert len(pool.submit(jobs_of(config(*TRIO))[:1], nothing).result(60)) == 1
    workers = multiprocessing.active_children()
    assert len(workers) == 2
    for worker in workers:
        os.kill(worker.pid or 0, signal.SIGSTOP)
    pool.close()
    assert not any(worker.is_alive() for worker in workers)


def test_workers_ignore_the_terminal(jobs_of: JobsOf, local: LocalPool, tmp_path: Path) -> None:
    future = local.submit(jobs_of(config("random", f"strange:folder={tmp_path},wait=on")), nothing)
    (began,) = await_news(local, 1)
    for number in (signal.SIGINT, signal.SIGHUP):
        os.kill(began.worker, number)
    (tmp_path / "gate").touch()
    assert len(future.result(60)) == 2


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

"""A coordinator's pool on slots of this machine, and matches that wait within a move."""

from __future__ import annotations

import time
from concurrent.futures import wait
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from arena.executor.cluster.facts import wanted_of
from arena.executor.cluster.pool import ClusterPool
from tournaments import config

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from concurrent.futures import Future

    from arena.coordinator.config import TournamentConfig
    from arena.executor.cluster.private import PrivateCluster
    from arena.executor.job import Job
    from arena.executor.pools import Pool
    from arena.executor.slots import Slot
    from arena_db.records import MatchRecord

    JobsOf = Callable[[TournamentConfig], list[Job]]

DEADLINE_S = 90.0
PLAIN = ("random", "strange")
"""Bots without compiled kernels, so that a slot plays at once."""
SIX = config(*PLAIN, rounds=3)
WANTED = wanted_of("T0", "tic-tac-toe", "ignore")


def nothing() -> None:
    """Receive no orders."""


def await_true(is_true: Callable[[], object], what: str) -> None:
    """Wait until a condition is true, with a long timeout for a busy machine."""
    ends_at = time.monotonic() + DEADLINE_S
    while not is_true():
        assert time.monotonic() < ends_at, what
        time.sleep(0.01)


@contextmanager
def joined(cluster: PrivateCluster, num: int = 2) -> Generator[ClusterPool]:
    """Connect a coordinator to the cluster, and wait for `num` slots."""
    with closing(ClusterPool(cluster.place, WANTED)) as pool:
        await_true(lambda: len(pool.slots()) >= num, "slots do not join")
        yield pool


def play(pool: Pool, jobs: Sequence[Job], slot: Slot) -> list[MatchRecord]:
    future = pool.submit(jobs, slot, nothing)
    wait([future], DEADLINE_S)
    return [record for part in (*pool.results(), future.result(0)) for record in part]


def play_all(pool: Pool, jobs: Sequence[Job]) -> list[MatchRecord]:
    """Play all jobs in the first slot, including those that a busy machine left undone."""
    records: list[MatchRecord] = []
    while len(records) < len(jobs):
        records += play(pool, jobs[len(records) :], pool.slots()[0])
    return records


def waiting(jobs_of: JobsOf, folder: Path, rounds: int = 1) -> list[Job]:
    """Return matches that last until a gate file exists in the folder."""
    return jobs_of(config("random", f"strange:folder={folder},wait=on,sign=on", rounds=rounds))


def begin(pool: ClusterPool, jobs: Sequence[Job], slot: Slot) -> Future[list[MatchRecord]]:
    """Submit a batch, and return its future once its first match has begun."""
    future = pool.submit(jobs, slot, nothing)
    news: list[int] = []

    def has_begun() -> bool:
        news.extend(began.number for began in pool.news() if began.slot == slot)
        return bool(news)

    await_true(has_begun, "no match begins")
    assert news == [jobs[0].number]
    return future


def await_thought(folder: Path, num: int = 1) -> None:
    """Wait until `num` slots are in a move that does not end."""
    await_true(lambda: len(list(folder.glob("pid-*"))) == num, "no bot thinks")


def slot_pids(cluster: PrivateCluster) -> dict[int, int]:
    """Return the process ids of the slots of a cluster, by number."""
    found: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
            words = path.with_name("cmdline").read_text().split("\0")
        except OSError:
            continue
        if parent == cluster.pids[1] and "arena.executor.cluster.slot" in words:
            found[int(words[-2])] = int(path.parent.name)
    return found

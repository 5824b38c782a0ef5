"""Trials with many processes on one store: no caller sees a lock error, nothing is lost."""

from __future__ import annotations

import multiprocessing
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager
from statistics import quantiles
from typing import TYPE_CHECKING

from simulated.cup import add_cup, match

from arena_db.backend.sqlite.engine import FileSettings, open_raw
from arena_db.errors import LockedError
from arena_db.records import MatchFilter
from arena_db.store import Store

if TYPE_CHECKING:
    from collections.abc import Generator
    from multiprocessing.synchronize import Barrier, Event
    from pathlib import Path

WRITERS = 4
BATCH = 50


def many_writers(path: Path, each: int) -> dict[str, float]:
    """Let four processes save matches one by one."""
    began = time.monotonic()
    with Store.open(path) as store:
        _, _, tournament = add_cup(store, WRITERS * each)
    shares = [(path, start, start + each) for start in range(0, WRITERS * each, each)]
    with ProcessPoolExecutor(WRITERS, multiprocessing.get_context("spawn")) as pool:
        shown = sum(pool.map(_write_share, shares))
    with Store.open(path) as store:
        return {
            "matches": WRITERS * each,
            "locks_shown": shown,
            "lost": len(store.plans.unplayed(tournament)),
            "faults": len(store.integrity.check()),
            "wall_s": round(time.monotonic() - began, 1),
        }


def _write_share(share: tuple[Path, int, int]) -> int:
    path, first, last = share
    shown = 0
    with Store.open(path) as store:
        entrants, plan = store.tournaments.entrants(1), store.plans.planned(1)
        for planned in plan[first:last]:
            try:
                store.matches.save([match(1, planned, entrants)])
            except LockedError:
                shown += 1
    return shown


def locked_for(path: Path, seconds: float | None, *, busy_ms: int, num_saves: int) -> dict[str, float]:
    """Save while another connection holds the lock for some seconds, or (None) until after the last save."""
    with Store.open(path) as store:
        entrants, plan, tournament = add_cup(store, num_saves * BATCH)
    shown, worst, began = 0, 0.0, time.monotonic()
    with _lock(path, seconds), Store.open(path, busy_ms=busy_ms) as store:
        for start in range(0, len(plan), BATCH):
            asked = time.monotonic()
            try:
                store.matches.save(
                    [match(tournament, planned, entrants) for planned in plan[start : start + BATCH]]
                )
            except LockedError:
                shown += 1
            worst = max(worst, time.monotonic() - asked)
        waiting = store.matches.num_waiting
        took = time.monotonic() - began
    with Store.open(path) as store:
        return {
            "saves": num_saves,
            "locks_shown": shown,
            "waiting_at_the_end": waiting,
            "worst_save_s": round(worst, 2),
            "wall_s": round(took, 1),
            "lost": len(store.plans.unplayed(tournament)),
            "left_waiting": store.matches.num_waiting,
            "faults": len(store.integrity.check()),
        }


@contextmanager
def _lock(path: Path, seconds: float | None) -> Generator[None]:
    is_held, may_end = threading.Event(), threading.Event()

    def hold() -> None:
        with closing(open_raw(FileSettings(place=path))) as raw:
            raw.execute("BEGIN IMMEDIATE")
            is_held.set()
            may_end.wait(seconds)
            raw.execute("ROLLBACK")

    holder = threading.Thread(target=hold)
    holder.start()
    is_held.wait()
    try:
        yield
    finally:
        may_end.set()
        holder.join()


def log_with_readers(path: Path, num_saves: int, num_readers: int, kind: str = "viewer") -> dict[str, float]:
    """Save while processes read all the time, or while one is stopped in the middle of a transaction.

    Args:
        path: path of an existing store.
        num_saves: number of saves of `BATCH` matches each.
        num_readers: number of processes that read.
        kind: `viewer` reads what a dashboard shows, `counter` counts all matches, `stuck` is stopped.
    """
    with Store.open(path) as store:
        entrants, plan, tournament = add_cup(store, num_saves * BATCH)
    log = path.with_name(path.name + "-wal")
    longest, times = 0, list[float]()
    with _readers(path, num_readers, kind), Store.open(path) as store:
        for start in range(0, len(plan), BATCH):
            records = [match(tournament, planned, entrants) for planned in plan[start : start + BATCH]]
            asked = time.monotonic()
            store.matches.save(records)
            times.append(time.monotonic() - asked)
            longest = max(longest, log.stat().st_size)
        return {
            "readers": num_readers,
            "saves": num_saves,
            "largest_log_mib": round(longest / 2**20, 1),
            "median_save_ms": round(1000 * quantiles(times)[1], 1),
            "worst_save_ms": round(1000 * max(times), 1),
            "lost": len(store.plans.unplayed(tournament)),
        }


@contextmanager
def _readers(path: Path, num: int, kind: str) -> Generator[None]:
    spawning = multiprocessing.get_context("spawn")
    ready, is_over = spawning.Barrier(num + 1), spawning.Event()
    work = _WORK[kind]
    readers = [spawning.Process(target=work, args=(path, ready, is_over)) for _ in range(num)]
    for reader in readers:
        reader.start()
    ready.wait()
    try:
        yield
    finally:
        is_over.set()
        for reader in readers:
            reader.join()


def _view(path: Path, ready: Barrier, is_over: Event) -> None:
    with Store.open(path, read_only=True) as viewer:
        ready.wait()
        while not is_over.is_set():
            viewer.data_version()
            viewer.sums.tallies(MatchFilter())
            viewer.matches.newest(MatchFilter())


def _count(path: Path, ready: Barrier, is_over: Event) -> None:
    with Store.open(path, read_only=True) as viewer:
        ready.wait()
        while not is_over.is_set():
            viewer.sums.tallies(MatchFilter(since=0.0))


def _stand_still(path: Path, ready: Barrier, is_over: Event) -> None:
    with closing(open_raw(FileSettings(place=path, read_only=True))) as raw:
        raw.execute("BEGIN")
        raw.execute("SELECT count(*) FROM matches").fetchall()
        ready.wait()
        is_over.wait()


_WORK = {"viewer": _view, "counter": _count, "stuck": _stand_still}

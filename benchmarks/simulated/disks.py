"""Trials with disks that fail: what was acknowledged stays, and the run goes on when the disk does."""

from __future__ import annotations

import resource
import shutil
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

from simulated.cup import add_cup, match
from simulated.driver import driver
from simulated.failing import Failing

from arena_db.engine import Settings
from arena_db.errors import AccessError, DatabaseError, FullError
from arena_db.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from pathlib import Path

BATCH = 3
"""Matches of one transaction."""
MATCHES = 120
SIZE_STEP = 1024
"""Bytes of a file, times the number of a trial, at which the system lets it grow no more."""
SIGNAL_S = 0.0005


def failing_writes(folder: Path, kind: str, numbers: Iterable[int]) -> dict[str, int]:
    """Let a write (or sync) fail, and all after it, counted from the opening of the store."""
    path, base, disk = folder / "arena.db", _base(folder), Failing("failing")
    figures = _figures()
    settings = Settings(path=path, driver=driver("failing"))
    for num in numbers:
        shutil.copy(base, path)
        disk.arm(kind, num)
        # The store is opened and closed by one library, and looked at by the other one afterwards.
        _trial(path, lambda: Store(settings), disk.heal, figures)
    disk.unregister()
    return figures


def small_files(folder: Path, numbers: Iterable[int]) -> dict[str, int]:
    """Let the system refuse to make files longer than a size, for many sizes (EFBIG)."""
    path, base = folder / "arena.db", _base(folder)
    figures = _figures()
    for num in numbers:
        shutil.copy(base, path)
        _limit(num * SIZE_STEP)
        _trial(path, lambda: Store.open(path), lambda: _limit(resource.RLIM_INFINITY), figures)
    return figures


def interrupted_calls(folder: Path, num_saves: int) -> dict[str, int]:
    """Save while signals interrupt system calls all the time (EINTR)."""
    path = folder / "arena.db"
    failed = 0
    with Store.open(path) as store:
        entrants, plan, tournament = add_cup(store, num_saves)
        with _signals() as caught:
            for planned in plan:
                try:
                    store.save([match(tournament, planned, entrants)])
                except DatabaseError:
                    failed += 1
        return {
            "saves": num_saves,
            "signals": len(caught),
            "failed": failed,
            "lost": len(store.unplayed(tournament)),
            "faults": len(store.check()),
        }


def _figures() -> dict[str, int]:
    return dict.fromkeys(
        ("trials", "stopped", "acknowledged", "lost", "other_errors", "faulty", "not_resumed"), 0
    )


def _base(folder: Path) -> Path:
    base = folder / "base.db"
    with Store.open(base) as store:
        add_cup(store, MATCHES)
    return base


def _trial(
    path: Path, opened: Callable[[], Store], heal: Callable[[], None], figures: dict[str, int]
) -> None:
    """Save until the disk fails, heal it, look at the store and save the rest."""
    acknowledged = 0
    try:
        with opened() as store:
            entrants, plan = store.entrants(1), store.planned(1)
            for start in range(0, MATCHES, BATCH):
                store.save([match(1, planned, entrants) for planned in plan[start : start + BATCH]])
                acknowledged = start + BATCH
    except (AccessError, FullError):
        figures["stopped"] += 1
    except DatabaseError:
        figures["other_errors"] += 1
    finally:
        heal()
    with Store.open(path) as store:
        stored = {found.number for found in store.tournament_matches(1)}
        figures["trials"] += 1
        figures["acknowledged"] += acknowledged
        figures["lost"] += len(set(range(1, acknowledged + 1)) - stored)
        figures["faulty"] += bool(store.check())
        entrants = store.entrants(1)
        store.save([match(1, planned, entrants) for planned in store.unplayed(1)])
        figures["not_resumed"] += len(list(store.tournament_matches(1))) != MATCHES or bool(
            store.check(quick=True)
        )
    path.unlink()


def _limit(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


@contextmanager
def _signals() -> Generator[list[int]]:
    caught: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, _: caught.append(number))
    signal.siginterrupt(signal.SIGALRM, True)  # noqa: FBT003 - its only form
    signal.setitimer(signal.ITIMER_REAL, SIGNAL_S, SIGNAL_S)
    try:
        yield caught
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

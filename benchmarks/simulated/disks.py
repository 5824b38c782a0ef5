"""Trials with failing disks: acknowledged results stay, and the run continues when the disk recovers."""

from __future__ import annotations

import resource
import shutil
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

from simulated.cup import add_cup, match
from simulated.driver import driver
from simulated.failing import Failing

from arena_db.access import Access
from arena_db.backend.sqlite import database
from arena_db.backend.sqlite.engine import FileSettings
from arena_db.errors import AccessError, DatabaseError, FullError
from arena_db.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from pathlib import Path

BATCH = 3
"""Matches of one transaction in trials with limited file sizes."""
MATCHES = 120
POINTS = 300
"""Number of saves of one match each, enough to reach every requested operation of any kind."""
REOPENED = 2
"""Number of saves after which the store is reopened, because cached pages are not read again."""
SIZE_STEP = 1024
"""Trial number n limits the size of files to n times as many bytes."""
SIGNAL_S = 0.0005


def failing_calls(folder: Path, kind: str, numbers: Iterable[int]) -> dict[str, int]:
    """Make one operation fail, counted from the opening of the store, and examine what is left.

    A permanent failure has to end the work with an error that says so; a single interruption must not.
    """
    path, base, disk = folder / "arena.db", _base(folder, POINTS), Failing("failing")
    figures = _figures() | {"missed": 0}
    settings = FileSettings(place=path, driver=driver("failing"))
    with _short_log():
        for num in numbers:
            shutil.copy(base, path)
            disk.arm(kind, num)
            # The store is opened and closed by one SQLite library, and examined by the other one afterwards.
            _trial(
                path, _Saving(lambda: Store(Access(settings)), 1, lambda: disk.has_failed), disk.heal, figures
            )
            figures["missed"] += not disk.has_failed
    disk.unregister()
    return figures


def small_files(folder: Path, numbers: Iterable[int]) -> dict[str, int]:
    """Let the system refuse to make files longer than a size, for many sizes (EFBIG)."""
    path, base = folder / "arena.db", _base(folder, MATCHES)
    figures = _figures()
    for num in numbers:
        shutil.copy(base, path)
        _limit(num * SIZE_STEP)
        _trial(
            path, _Saving(lambda: Store.open(path), BATCH), lambda: _limit(resource.RLIM_INFINITY), figures
        )
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
                    store.matches.save([match(tournament, planned, entrants)])
                except DatabaseError:
                    failed += 1
        return {
            "saves": num_saves,
            "signals": len(caught),
            "failed": failed,
            "lost": len(store.plans.unplayed(tournament)),
            "faults": len(store.integrity.check()),
        }


def _figures() -> dict[str, int]:
    return dict.fromkeys(
        ("trials", "stopped", "acknowledged", "lost", "other_errors", "faulty", "not_resumed"), 0
    )


def _base(folder: Path, num_matches: int) -> Path:
    base = folder / "base.db"
    with Store.open(base) as store:
        add_cup(store, num_matches)
    return base


class _Saving:
    """The work during which a disk fails."""

    def __init__(
        self, opened: Callable[[], Store], batch: int, is_over: Callable[[], bool] = lambda: False
    ) -> None:
        self._opened = opened
        self._batch = batch
        self._is_over = is_over
        self.num_acknowledged = 0

    def run(self) -> None:
        """Save in small transactions, reopening the store between them, to the end or for some time."""
        with self._opened() as store:
            entrants, plan = store.tournaments.entrants(1), store.plans.planned(1)
        records = [match(1, planned, entrants) for planned in plan]
        for start in range(0, len(records), REOPENED * self._batch):
            was_over = self._is_over()
            with self._opened() as store:
                for first in range(start, min(start + REOPENED * self._batch, len(records)), self._batch):
                    store.matches.save(records[first : first + self._batch])
                    self.num_acknowledged = min(first + self._batch, len(records))
            if was_over:
                return


def _trial(path: Path, saving: _Saving, heal: Callable[[], None], figures: dict[str, int]) -> None:
    """Save until the disk fails, repair it, examine the store and save the rest."""
    try:
        saving.run()
    except (AccessError, FullError):
        figures["stopped"] += 1
    except DatabaseError:
        figures["other_errors"] += 1
    finally:
        heal()
    with Store.open(path) as store:
        stored = {found.number for found in store.matches.of_tournament(1)}
        figures["trials"] += 1
        figures["acknowledged"] += saving.num_acknowledged
        figures["lost"] += len(set(range(1, saving.num_acknowledged + 1)) - stored)
        figures["faulty"] += bool(store.integrity.check())
        entrants, num_planned = store.tournaments.entrants(1), len(store.plans.planned(1))
        store.matches.save([match(1, planned, entrants) for planned in store.plans.unplayed(1)])
        figures["not_resumed"] += len(list(store.matches.of_tournament(1))) != num_planned or bool(
            store.integrity.check(quick=True)
        )
    path.unlink()


@contextmanager
def _short_log() -> Generator[None]:
    """Make every transaction checkpoint and truncate the log, so each save uses every kind of operation."""
    before, database.LIMIT = database.LIMIT, 0
    try:
        yield
    finally:
        database.LIMIT = before


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

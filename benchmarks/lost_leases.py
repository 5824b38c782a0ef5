"""Stops coordinators past their leases, takes stores away from them, kills backups; prints one JSON line.

These figures must be 0: results that were reported and are not stored, doubled results, wrong exit statuses,
stores whose removal went unnoticed, incomplete copies, and leftover parts of backups.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from simulated.cup import add_cup, match

from arena_db.backend.sqlite.engine import FileSettings, open_raw
from arena_db.errors import LockedError
from arena_db.owner import current_owner
from arena_db.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable

FAILURES: Final = ("told_but_not_stored", "doubled", "wrong_exits", "unnoticed", "not_whole", "parts_left")
"""The figures that must be 0."""
NUM_MATCHES: Final = 1000
_DEADLINE_S: Final = 60.0
_COORDINATOR: Final = """
import os, signal, sys, time
from dataclasses import replace
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from simulated.cup import match
from arena_db.backend.sqlite import database
from arena_db.errors import LeaseLostError, MovedError
from arena_db.owner import current_owner
from arena_db.store import Store

stop_at, usual = int(sys.argv[3]), database.writing
def writing(*arguments):
    global stop_at
    stop_at -= 1
    if not stop_at:
        os.kill(os.getpid(), signal.SIGSTOP)
    return usual(*arguments)

with Store.open(sys.argv[2], busy_ms=int(sys.argv[4])) as opened:
    store = opened.claim(1, current_owner())
    database.writing = writing
    entrants = store.tournaments.entrants(1)
    try:
        for planned in store.plans.unplayed(1):
            store.matches.save([replace(match(1, planned, entrants), reason="by the old one")])
            print(planned.number, flush=True)
            time.sleep(0.01)
    except LeaseLostError as error:
        sys.exit(3 if "was taken over by pid" in str(error) else 4)
    except MovedError as error:
        store.transfers.rescue(Path(sys.argv[5]))
        sys.exit(1)
"""
"""A coordinator whose matches take 10 ms: it saves one after the other, and prints the number of each.

It stops itself inside its `stop_at`-th transaction, before it has the write lock: a process that has this
lock cannot be replaced until it has released it.
"""

_BACKUP: Final = """
import sys
from pathlib import Path
from arena_db.store import Store

with Store.open(sys.argv[1], read_only=True) as store:
    print(flush=True)
    store.backup(Path(sys.argv[2]))
"""


def main() -> None:
    """Run the trials, print their figures, and fail if one that must be 0 is not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--stops", type=int, default=100, help="number of coordinators that are stopped and replaced"
    )
    parser.add_argument("--moves", type=int, default=20, help="number of stores that are taken away")
    parser.add_argument("--backups", type=int, default=50, help="number of backups that are killed")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)  # noqa: S311 - moments, not secrets
    figures: Counter[str] = Counter(dict.fromkeys(FAILURES, 0))
    began = time.monotonic()
    trials = {stop: arguments.stops, take_away: arguments.moves, kill_backup: arguments.backups}
    for trial, num in trials.items():
        for number in range(num):
            with tempfile.TemporaryDirectory() as folder:
                trial(Path(folder), chance, figures, number)
    print(json.dumps({**figures, "wall_s": round(time.monotonic() - began, 1)}))
    sys.exit(any(figures[name] for name in FAILURES))


def stop(folder: Path, chance: random.Random, figures: Counter[str], number: int) -> None:
    """Stop a coordinator inside a save, or at any moment; another one takes over; resume the first."""
    path = _new_store(folder)
    # In every fourth trial the first coordinator wakes to a locked store, and keeps its results beside it.
    busy_ms = 20 if number % 4 == 3 else 10_000  # noqa: PLR2004 - see above
    stop_at = chance.randint(2, 30) if number % 2 else 0
    old = _coordinator(path, stop_at, busy_ms)
    if not stop_at:
        _await_told(old, path, chance.randint(1, 60))
    new = _replace(old, path, figures, stops_itself=bool(stop_at))
    with new:
        held = new.claim(1, current_owner(), take_over=True)
        if held is None:
            raise RuntimeError("a silent coordinator was not replaced")
        unplayed = held.plans.unplayed(1)
        entrants = held.tournaments.entrants(1)
        told = [
            planned.number for planned in unplayed[:20] if held.matches.save([match(1, planned, entrants)])
        ]
        if busy_ms < 1000:  # noqa: PLR2004 - it is to give up waiting
            with closing(open_raw(FileSettings(place=path))) as lock:
                lock.execute("BEGIN IMMEDIATE")
                status, told_by_old = _wake(old, path)
                lock.execute("ROLLBACK")
        else:
            status, told_by_old = _wake(old, path)
        figures["stopped"] += 1
        figures["wrong_exits"] += status != 3  # noqa: PLR2004 - Exit.STOPPED
        for planned in held.plans.unplayed(1)[:20]:
            told += [planned.number] * held.matches.save([match(1, planned, entrants)])
        _compare(held, figures, told_by_old, told)
        figures["wrong_exits"] += bool(held.integrity.check())


def take_away(folder: Path, chance: random.Random, figures: Counter[str], number: int) -> None:
    """Remove, move or replace a store under its coordinator; merge the rescued results into a backup."""
    path, backup, rescued = _new_store(folder), folder / "backup.db", folder / "cup.spool"
    with Store.open(path, read_only=True) as store:
        store.backup(backup)
    run = _coordinator(path, 0, 10_000, rescued)
    _await_told(run, path, chance.randint(1, 60))
    time.sleep(chance.uniform(0, 0.02))
    ways = tuple(WAYS.values())
    ways[number % len(ways)](path)
    run.wait(timeout=_DEADLINE_S)
    told = _told(path)
    figures["taken_away"] += 1
    figures["unnoticed"] += run.returncode != 1
    waiting = backup.with_name("backup.db-spool")
    waiting.mkdir()
    with suppress(FileNotFoundError):
        rescued.rename(waiting / "cup.jsonl")
    with Store.open(backup) as store:
        _compare(store, figures, told, [])
        figures["not_whole"] += bool(store.integrity.check() or store.matches.num_waiting)


def kill_backup(folder: Path, chance: random.Random, figures: Counter[str], number: int) -> None:
    """Kill a backup while it works; the next backup must remove its partial files."""
    path = _new_store(folder)
    target = folder / "kept" / "copy.db"
    target.parent.mkdir()
    command = [sys.executable, "-P", "-c", _BACKUP, str(path), str(target)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:  # noqa: S603 - our own code
        if process.stdout is not None:
            process.stdout.readline()
        # On a slow machine this includes the late moments of a backup, on a fast one the time after it.
        time.sleep(0.01 * number * chance.random())
        process.kill()
    figures["killed_backups"] += 1
    figures["of_which_whole"] += target.exists()
    if target.exists():
        with Store.open(target, read_only=True) as copy:
            figures["not_whole"] += bool(copy.integrity.check())
    with Store.open(path, read_only=True) as store:
        store.backup(target.with_name("next.db"))
    kept = {"next.db"} | ({"copy.db"} if target.exists() else set[str]())
    figures["parts_left"] += {file.name for file in target.parent.iterdir()} != kept


def _new_store(folder: Path) -> Path:
    path = folder / "arena.db"
    with Store.open(path) as store:
        add_cup(store, NUM_MATCHES)
    return path


def _coordinator(
    path: Path, stop_at: int, busy_ms: int, rescued: Path | None = None
) -> subprocess.Popen[bytes]:
    arguments = (str(Path(__file__).parent), str(path), str(stop_at), str(busy_ms), str(rescued))
    command = [sys.executable, "-P", "-c", _COORDINATOR, *arguments]
    with _words_of(path).open("wb") as told:
        return subprocess.Popen(command, stdout=told)  # noqa: S603 - our own code


def _words_of(path: Path) -> Path:
    return path.parent / "told.txt"


def _told(path: Path) -> list[int]:
    """Return the numbers of the matches that a coordinator reported."""
    return [int(line) for line in _words_of(path).read_text(encoding="utf-8").splitlines()]


def _await_told(run: subprocess.Popen[bytes], path: Path, num: int) -> None:
    """Wait until a coordinator has reported `num` matches."""
    deadline = time.monotonic() + _DEADLINE_S
    while len(_told(path)) < num:
        if run.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError("the coordinator does not play")
        time.sleep(0.005)


def _replace(old: subprocess.Popen[bytes], path: Path, figures: Counter[str], *, stops_itself: bool) -> Store:
    """Stop a coordinator, or wait until it has stopped itself; then make its lease expire."""
    deadline = time.monotonic() + _DEADLINE_S
    while time.monotonic() < deadline:
        if _state(old.pid) != "T":
            if not stops_itself:
                old.send_signal(signal.SIGSTOP)
            time.sleep(0.002)
            continue
        try:
            _silence(path)
        except LockedError:
            # It was stopped while it had the write lock: it cannot be replaced then.
            figures["stopped_with_lock"] += 1
            old.send_signal(signal.SIGCONT)
            time.sleep(0.005)
        else:
            return Store.open(path, busy_ms=10_000)
    raise RuntimeError("the coordinator does not stop, or always holds the lock")


def _silence(path: Path) -> None:
    """Set the holder's last write back by two minutes."""
    settings = FileSettings(place=path, busy_ms=100)
    with closing(open_raw(settings)) as raw:
        try:
            raw.execute("UPDATE leases SET beat_at = beat_at - 120, expires_at = expires_at - 120")
        except settings.driver.module.OperationalError as error:
            raise LockedError(str(error)) from error


def _wake(old: subprocess.Popen[bytes], path: Path) -> tuple[int, list[int]]:
    old.send_signal(signal.SIGCONT)
    return old.wait(timeout=_DEADLINE_S), _told(path)


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]


def _compare(store: Store, figures: Counter[str], by_old: list[int], by_new: list[int]) -> None:
    """Count matches that were reported and are not stored as reported."""
    stored = {found.number: found.reason for found in store.matches.of_tournament(1)}
    figures["told_by_old"] += len(by_old)
    figures["told_by_new"] += len(by_new)
    figures["told_but_not_stored"] += sum(stored.get(number) != "by the old one" for number in by_old)
    figures["told_but_not_stored"] += sum(stored.get(number) == "by the old one" for number in by_new)
    figures["told_but_not_stored"] += len(set(by_new) - stored.keys())
    figures["doubled"] += len(set(by_old) & set(by_new))


def _remove(path: Path) -> None:
    for name in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            path.with_name(path.name + name).unlink()


def _replace_by_copy(path: Path) -> None:
    shutil.copy(path, path.with_name("copy.db"))
    path.with_name("copy.db").replace(path)


WAYS: Final[dict[str, Callable[[Path], object]]] = {
    "removed": _remove,
    "moved": lambda path: path.rename(path.with_name("moved.db")),
    "replaced": _replace_by_copy,
    "log removed": lambda path: path.with_name(path.name + "-wal").unlink(),
    "replaced by a folder": lambda path: (os.rename(path, path.with_name("moved.db")), path.mkdir()),  # noqa: PTH104
}
"""Ways to take a store away."""


if __name__ == "__main__":
    main()

"""Kills restores and upgrades of a store with `kill -9`; prints one JSON line.

These figures must be 0: stores that are neither as before nor as after, incomplete copies, and files that
remain after the command was run again.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from simulated.cup import add_cup, match

from arena_db.backend.sqlite.engine import find_driver
from arena_db.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterable

FAILURES: Final = ("not_whole", "left_files")
"""The figures that must be 0."""
NUM_MATCHES: Final = 1000
_NUM_DONE: Final = 400
"""Matches with a result in the store that a restore replaces."""
_OLD_STORE: Final = Path(__file__).parents[1] / "tests" / "unit" / "arena_db" / "store-0001.sql"
_DEADLINE_S: Final = 900.0
"""Timeout in seconds of an undisturbed command: it detects a hang, and must not depend on other load."""
_RESTORE: Final = """
import sys
from pathlib import Path
from arena_db.store import Store

print(flush=True)
Store.restore(Path(sys.argv[2]), sys.argv[1])
"""
_UPGRADE: Final = """
import sys
from arena_db.store import Store
import arena_db.migrate

print(flush=True)
Store.open(sys.argv[1]).close()
"""


class Trial(Protocol):
    """One trial of many kills."""

    def __call__(self, folder: Path, moment: float, figures: Counter[str]) -> None:
        """Start in an empty folder; kill at `moment`, a share of the command's duration."""
        ...


def main() -> None:
    """Run the trials, print their figures, and fail if one that must be 0 is not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50, help="number of kills of restores, and of upgrades")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)  # noqa: S311 - moments, not secrets
    figures: Counter[str] = Counter(dict.fromkeys(FAILURES, 0))
    began = time.monotonic()
    trials: dict[str, Trial] = {"restores": kill_restore, "upgrades": kill_upgrade}
    for name, trial in trials.items():
        for number in range(arguments.kills):
            with tempfile.TemporaryDirectory() as folder:
                # Evenly spread, and some a little after the end, because no two runs take equally long.
                trial(Path(folder), 1.1 * (number + chance.random()) / arguments.kills, figures)
            figures[name] += 1
    print(json.dumps({**figures, "wall_s": round(time.monotonic() - began, 1)}))
    sys.exit(any(figures[name] for name in FAILURES))


def kill_restore(folder: Path, moment: float, figures: Counter[str]) -> None:
    """Kill a restore: the store must be the old one, or the backup with the old one beside it."""
    path, backup = folder / "arena.db", folder / "backup.db"
    with Store.open(path) as store:
        entrants, plan, cup = add_cup(store, NUM_MATCHES)
        store.backup(backup)
        store.matches.save([match(cup, planned, entrants) for planned in plan[:_NUM_DONE]])
    spare = folder / "spare"
    spare.mkdir()
    shutil.copy(backup, spare / "arena.db")
    usual_s = _time(_RESTORE, str(spare / "arena.db"), str(backup))
    shutil.rmtree(spare)
    figures["killed"] += _kill(_RESTORE, [str(path), str(backup)], moment * usual_s)
    num_done = _num_done(path, figures)
    figures["restores_done"] += num_done == 0
    old = [each for each in folder.iterdir() if each.name.endswith(".old")]
    wanted = [] if num_done == _NUM_DONE else [_NUM_DONE]
    figures["not_whole"] += (
        num_done not in {0, _NUM_DONE} or [_num_done(each, figures) for each in old] != wanted
    )
    Store.restore(backup, path)
    figures["not_whole"] += _num_done(path, figures) != 0
    _count_left(folder, ["arena.db", "backup.db", *(each.name for each in folder.glob("*.old"))], figures)


def kill_upgrade(folder: Path, moment: float, figures: Counter[str]) -> None:
    """Kill an upgrade: the store must have the old tables or the new ones, and be upgradable."""
    path, whole = folder / "arena.db", folder / "whole" / "arena.db"
    whole.parent.mkdir()
    for each in (path, whole):
        with closing(find_driver().module.connect(each)) as raw:
            raw.executescript(_OLD_STORE.read_text(encoding="utf-8"))
    before = _rows(path)
    usual_s = _time(_UPGRADE, str(whole))
    after = _rows(whole)
    shutil.rmtree(whole.parent)
    figures["killed"] += _kill(_UPGRADE, [str(path)], moment * usual_s)
    now = _rows(path)
    figures["upgrades_done"] += now != before
    for copy in folder.glob("*.bak"):
        figures["backups_whole"] += _rows(copy) == before
        figures["not_whole"] += _rows(copy) != before
    # An upgrade has two steps; the second, sums of matches, continues where it was interrupted.
    figures["not_whole"] += now != before and now.keys() != after.keys()
    figures["not_whole"] += now != before and not list(folder.glob("*.bak"))
    with Store.open(path) as store:
        figures["not_whole"] += bool(store.integrity.check())
    figures["not_whole"] += _rows(path) != after
    _count_left(folder, ["arena.db", *(each.name for each in folder.glob("*.bak"))], figures)


def _time(code: str, *arguments: str) -> float:
    """Return how long an undisturbed command takes, from its first line on."""
    with subprocess.Popen(_command(code, arguments), stdout=subprocess.PIPE) as process:  # noqa: S603 - our own code
        _await_line(process)
        began = time.monotonic()
        if process.wait(timeout=_DEADLINE_S):
            raise RuntimeError("the command fails")
        return time.monotonic() - began


def _kill(code: str, arguments: Iterable[str], after_s: float) -> bool:
    """Kill a command so long after its first line; return whether it was still running."""
    with subprocess.Popen(_command(code, arguments), stdout=subprocess.PIPE) as process:  # noqa: S603 - our own code
        _await_line(process)
        time.sleep(after_s)
        process.kill()
        return process.wait() != 0


def _command(code: str, arguments: Iterable[str]) -> list[str]:
    return [sys.executable, "-P", "-c", code, *arguments]


def _await_line(process: subprocess.Popen[bytes]) -> None:
    if process.stdout is not None:
        process.stdout.readline()


def _num_done(path: Path, figures: Counter[str]) -> int:
    """Return how many matches of the cup have a result, as seen by the next reader of the store."""
    with Store.open(path) as store:
        figures["not_whole"] += bool(store.integrity.check())
        record = store.tournaments.find("cup")
        return -1 if record is None else record.num_done


def _rows(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return all rows of all tables of a store of any revision, except derived ones and their seals."""
    with closing(find_driver().module.connect(path)) as raw:
        names = [row[0] for row in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        found: dict[str, list[tuple[object, ...]]] = {}
        for name in names:
            columns = [row[1] for row in raw.execute(f"PRAGMA table_info({name})")]
            kept = ", ".join(column for column in columns if column not in {"uid", "content_hash"})
            found[name] = sorted(raw.execute(f"SELECT {kept} FROM {name}").fetchall(), key=repr)  # noqa: S608 - names of our tables
    return found


def _count_left(folder: Path, wanted: list[str], figures: Counter[str]) -> None:
    """Count the files that belong to no store; SQLite keeps three for each store."""
    known = {name + side for name in wanted for side in ("", "-wal", "-shm", "-lock")}
    left = {file.name for file in folder.iterdir()} - known
    if left:
        print(f"left: {sorted(left)}", file=sys.stderr)
    figures["left_files"] += len(left)


if __name__ == "__main__":
    main()

"""Measures time and memory until the first of a million matches begins, in a new and a resumed tournament."""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, cast

from arena.coordinator.kinds import schedule_of
from arena.coordinator.restore import restore_plan
from arena.results.addresses import find_event
from arena_db.backend.sqlite.engine import FileSettings, open_raw
from arena_db.records import NewBatch
from arena_db.store import Store

if TYPE_CHECKING:
    from arena.pairing.schedule import FixedPlan

_OPTIONS = ("--require-tier", "T0", "--st", "30", "--srand", "7", "--concurrency", "1")
_PAGE = 10_000
_LEFT = 10
"""Matches that a resumed tournament still has to play."""
_COPIED = """
INSERT INTO matches ({names})
WITH RECURSIVE n(i) AS (SELECT :first UNION ALL SELECT i + 1 FROM n WHERE i < :last)
SELECT {values} FROM n JOIN matches ON matches.number = 2 - n.i % 2 AND matches.is_final = 1 ORDER BY i
"""


def main() -> None:
    """Print the figures as one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--matches", type=int, default=1_000_000, help="matches of the plan, an even number")
    parser.add_argument("--isolation", default="none", help="limit of the bots, as in arena match")
    parser.add_argument("bots", nargs="*", default=["random", "random"], help="two bots, instead of random")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "arena.db"
        rounds = str(arguments.matches // 2)
        how = (*_OPTIONS, "--isolation", arguments.isolation)
        new = _first_match(
            ["match", *arguments.bots, *how, "--rounds", rounds, "--name", "long", "--db", str(path)]
        )
        _play_nearly_all(path, arguments.matches)
        resumed = _first_match(["resume", "long", "--concurrency", "1", "--db", str(path)])
    print(json.dumps({"matches": arguments.matches, "new": new, "resumed": resumed}))


def _first_match(arguments: list[str]) -> dict[str, float]:
    """Stop a run once a match is over; return the CPU time when that match began, and the peak memory."""
    command = [sys.executable, "-P", "-m", "arena", *arguments]
    found = {"cpu_s": 0.0, "peak_mb": 0.0}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:  # noqa: S603 - our own
        for line in run.stdout or ():
            if line.startswith("Started game") and not found["cpu_s"]:
                found["cpu_s"] = _cpu_s(run.pid)
            if line.startswith("Finished game"):
                found["peak_mb"] = _peak_mb(run.pid)
                run.send_signal(signal.SIGINT)
                break
        if run.stdout is not None:
            run.stdout.read()
    return found


def _cpu_s(pid: int) -> float:
    """Return the seconds of CPU of a process and of the children it has waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _peak_mb(pid: int) -> float:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(encoding="ascii"))
    return 0.0 if found is None else int(found[1]) / 1024


def _play_nearly_all(path: Path, num_matches: int) -> None:
    """Plan the whole tournament, and store copies of its first two matches for all but the last ones."""
    with Store.open(path) as store:
        record = find_event(store, "long", unfinished=True)
        plan = restore_plan(store, record)
        fixed = cast("FixedPlan", schedule_of(plan.config, plan.game, 2, record.plan_version).fixed)
        for begin in range(record.num_planned, num_matches, _PAGE):
            end = min(num_matches, begin + _PAGE)
            store.plans.add_batch(
                record.id,
                NewBatch(
                    matches=list(fixed.matches(begin, end)), num_total=num_matches, is_last=end == num_matches
                ),
            )
    num_done = num_matches - _LEFT
    with closing(open_raw(FileSettings(place=path))) as raw:
        raw.execute("PRAGMA foreign_keys=0")
        names = [row[1] for row in raw.execute("PRAGMA table_info(matches)") if row[1] != "id"]
        (first,) = raw.execute("SELECT max(number) + 1 FROM matches").fetchone()
        values = ", ".join("i" if name == "number" else f"matches.{name}" for name in names)
        raw.execute(_COPIED.format(names=", ".join(names), values=values), {"first": first, "last": num_done})
        raw.execute("UPDATE planned SET state = 'done' WHERE number <= ?", (num_done,))
        raw.execute("UPDATE tournaments SET num_done = ?", (num_done,))
        raw.execute("UPDATE summing SET next_match = (SELECT max(id) + 1 FROM matches)")


if __name__ == "__main__":
    main()

"""Kills workers, bots and starters of running tournaments with `kill -9`: what was lost, doubled or left?"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from kill_trials import FAILURES, Trials, count_orphans, results

from arena.sandbox.starter import LAUNCHER
from arena_db.errors import DatabaseError
from arena_db.records import MatchFilter
from arena_db.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_LEAST_S, _MOST_S = 0.1, 1.5
"""From a look at the tournament to the next: a kill can meet a worker at any moment."""
_DEATHS = {"crash", "init_crash"}
"""How a match ends whose bot was killed: in play, or as it got ready."""
Kind = Literal["worker", "host", "starter"]


def main() -> None:
    """Run tournaments until there were kills enough; print the figures as JSON, fail if one is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--kills",
        type=int,
        default=200,
        help="at least; of workers, of starters, and of two bots in each tournament",
    )
    parser.add_argument("--seed", type=int, default=1, help="of the moments of the kills")
    parser.add_argument("--rounds", type=int, default=1000, help="of each tournament, two matches each")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        trials = WorkerTrials(Path(folder), arguments.rounds, "auto", arguments.seed)
        figures = trials.run_until(arguments.kills)
    print(json.dumps(figures))
    sys.exit(any(figures[key] for key in (*FAILURES, "unexplained")))


class WorkerTrials(Trials):
    """Tournaments whose coordinator lives while what plays for it is killed."""

    def run_until(self, num_kills: int) -> dict[str, float]:
        """Hold tournaments until `num_kills` processes were killed in them."""
        reference = self._folder / "reference.db"
        self._expect(self._start(self._plan, reference), {0})
        expected = {number: rest for number, *rest in results(reference)}
        while sum(self._figures[f"{kind}s"] for kind in get_args(Kind)) < num_kills:
            self._figures["tournaments"] += 1
            store = self._folder / f"{self._figures['tournaments']}.db"
            process = self._start(self._plan, store)
            self._kill_children(process, store)
            self._expect(process, {0})
            self._figures["orphans"] += count_orphans()
            self._judge(store, expected)
        counted = ("tournaments", "workers", "hosts", "starters", "crashes", "unexplained", *FAILURES)
        return {"matches": len(expected), **{key: self._figures[key] for key in counted}}

    def _kill_children(self, process: subprocess.Popen[str], store: Path) -> None:
        # A third bot that is killed as it starts would be quarantined, and a match given up at the third
        # death of its worker, as they must; that is tried elsewhere.
        kinds: list[Kind] = ["worker", "host", "starter", "worker", "host", "starter"]
        num_done = 0
        while kinds:
            with suppress(subprocess.TimeoutExpired):
                process.wait(self._chance.uniform(_LEAST_S, _MOST_S))
                return
            before, num_done = num_done, _count_done(store)
            kind = kinds[0]
            victims = list(_players(process.pid, kind))
            if num_done == before or not victims:
                # Killed before they have begun anything, workers are given up after some attempts.
                num_done = before
                continue
            with suppress(ProcessLookupError):
                os.kill(self._chance.choice(victims), signal.SIGKILL)
                self._figures[f"{kind}s"] += 1
            kinds = kinds[1:]

    def _judge(self, store: Path, expected: Mapping[int, Sequence[object]]) -> None:
        """A killed worker or starter changes nothing; a killed bot loses one match at most, and no other."""
        with Store.open(store, read_only=True) as opened:
            self._figures["faulty_stores"] += bool(opened.check())
            found = opened.matches(MatchFilter(rated_only=False), limit=1_000_000)
        final = [match for match in found if match.is_final]
        crashed = {match.number for match in final if match.termination in _DEATHS}
        self._figures["crashes"] += len(crashed)
        self._figures["unexplained"] += max(0, self._figures["crashes"] - self._figures["hosts"])
        kept = {m.number: [m.outcome, m.actions] for m in final if m.number not in crashed}
        wanted = {number: rest for number, rest in expected.items() if number not in crashed}
        if kept != wanted or len(final) != len(expected):
            self._figures["wrong_results"] += 1
            strange = [match for match in found if [match.outcome, match.actions] != expected[match.number]]
            print(f"{store.name}: {strange}", file=sys.stderr)


def _players(coordinator: int, kind: Kind) -> Iterator[int]:
    workers = [pid for pid in _children(coordinator) if b"spawn_main" in _command(pid)]
    if kind == "worker":
        yield from workers
        return
    for worker in workers:
        children = _children(worker)
        # First processes of containers have the command line of the starter, too; it began before them.
        launchers = [pid for pid in children if LAUNCHER.encode() in _command(pid)]
        starter = min(launchers, key=_began, default=None)
        yield from (pid for pid in children if (pid == starter) == (kind == "starter"))


def _began(pid: int) -> int:
    """Return when a process was started, in ticks since the machine was; one that is gone comes last."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[19])
    except OSError:
        return sys.maxsize


def _count_done(store: Path) -> int:
    try:
        return len(results(store))
    except DatabaseError:
        return 0


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (thread / "children").read_text("ascii").split())
    return found


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


if __name__ == "__main__":
    main()

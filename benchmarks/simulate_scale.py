"""Fills a store with up to ten million matches through the real saving path, and measures what gets slower.

    python benchmarks/simulate_scale.py --db scale.db --report scale.json

An existing store is filled further, and the report keeps its earlier figures, so a stopped simulation
continues where it stopped.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from report import machine
from simulated.season import COLUMNS, make_bots, make_plan, make_records

from arena_db.pools import PoolRecord
from arena_db.records import Entrant, MatchFilter, NewTournament
from arena_db.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MARKS: Final = (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
"""Numbers of matches at which everything is measured."""
BOTS: Final = 200
SEATS: Final = 20
"""Bots of one tournament, drawn from all."""
GROUP: Final = 2_500
"""Matches of one transaction."""
LATEST: Final = 10
"""Number of tournaments before a mark from which the save rate is computed."""
COLD: Final = "event-0001"
"""The tournament that is moved to files and back."""
LAST_RATE: Final = 0.7
"""Minimum rate of saving at the last mark, as a share of that at the first."""
LEADERBOARD_S: Final = 5.0
"""Maximum seconds of CPU for the whole command `arena leaderboard`."""


def main() -> int:
    """Fill, measure and compare; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--marks",
        type=int,
        nargs="+",
        default=MARKS,
        help="numbers of matches at which everything is measured",
    )
    parser.add_argument("--each", type=int, default=10_000, help="matches of one tournament")
    parser.add_argument("--check-up-to", type=int, default=1_000_000, help="most matches of a full check")
    parser.add_argument("--db", type=Path, help="keep the store in this file, or fill it further")
    parser.add_argument("--report", type=Path, help="file of the figures, written after each mark")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.db or Path(folder, "scale.db")
        simulation = Simulation(path, arguments.report or Path(folder, "scale.json"), arguments.check_up_to)
        return simulation.run(arguments.marks, arguments.each)


class Command(NamedTuple):
    """A command that was run."""

    text: bytes
    """Its standard output."""
    cpu_s: float


class Simulation:
    """A store that is filled, and the figures of its marks."""

    def __init__(self, path: Path, report: Path, check_up_to: int) -> None:
        """Read the figures that an earlier simulation left."""
        self._path = path
        self._report = report
        self._check_up_to = check_up_to
        self._bots: list[Entrant] = make_bots(BOTS)
        known: dict[str, Any] = json.loads(report.read_text()) if report.exists() else {}
        self._figures: list[dict[str, Any]] = known.get("marks", [])

    def run(self, marks: Sequence[int], each: int) -> int:
        """Fill the store up to each mark and measure there; return 1 if a figure is out of bounds, else 0."""
        for mark in marks:
            rates = self._fill(mark, each)
            if not rates and any(known["matches"] >= mark for known in self._figures):
                continue
            print(f"# {mark} matches: {json.dumps(rates)}", flush=True)
            figures: dict[str, Any] = {"matches": mark} | rates | self._measure(mark)
            self._figures = [known for known in self._figures if known["matches"] != mark] + [figures]
            print(json.dumps(figures), flush=True)
            self._write()
        return self._judge()

    def _write(self) -> None:
        said = {"machine": machine.describe(), "bots": BOTS, "marks": self._figures}
        self._report.write_text(json.dumps(said, indent=1) + "\n")

    def _fill(self, mark: int, each: int) -> dict[str, float]:
        """Add tournaments until the store has so many matches; return the rates of the last ones."""
        took: list[tuple[int, float, float, float, float]] = []
        with Store.open(self._path) as store:
            newest = store.tournaments.last(unfinished=False)
            index = 0 if newest is None else newest.id
            stored = sum(tally.num_matches for tally in store.sums.tallies(MatchFilter(rated_only=False)))
            while stored < mark:
                num = min(each, mark - stored)
                took.append((num, *self._add(store, index, num)))
                stored += num
                index += 1
                if index % 20 == 0:
                    print(f"# {stored} matches, load {os.getloadavg()[0]:.1f}", flush=True)
        if not took:
            return {}
        num, plan, cpu, wall, sums = (sum(column) for column in zip(*took[-LATEST:], strict=True))
        return {
            "plan_cpu_s_per_100k": round(plan * 100_000 / num, 2),
            "save_cpu_s_per_100k": round(cpu * 100_000 / num, 2),
            "sum_cpu_s_per_100k": round(sums * 100_000 / num, 2),
            "saved_per_cpu_s": round(num / (cpu + sums)),
            "saved_per_s": round(num / wall),
            "load": machine.load(),
        }

    def _add(self, store: Store, index: int, num: int) -> tuple[float, float, float, float]:
        """Add a tournament; return seconds: CPU of its plan, CPU of its saves, elapsed, CPU of its sums."""
        rng = np.random.default_rng(index)
        seats: list[int] = sorted(rng.choice(BOTS, SEATS, replace=False).tolist())
        bots = [
            Entrant(seat=seat, label=self._bots[bot].label, bot=self._bots[bot].bot, limit="")
            for seat, bot in enumerate(seats)
        ]
        tournament = store.tournaments.add(_new_tournament(f"event-{index + 1:04d}"), bots, []).id
        plan = list(make_plan(SEATS, num, rng))
        _, plan_cpu = timed(lambda: store.plans.extend(tournament, plan, ""))
        cpu = wall = 0.0
        for start in range(0, num, GROUP):
            records = make_records(tournament, plan[start : start + GROUP], bots, rng)
            took = timed(partial(store.matches.save, records))
            wall, cpu = wall + took[0], cpu + took[1]
        sums_wall, sums = timed(store.sums.sum_up)
        store.tournaments.set_state(tournament, "finished")
        return plan_cpu, cpu, wall + sums_wall, sums

    def _measure(self, mark: int) -> dict[str, float]:
        size = sum(file.stat().st_size for file in self._path.parent.glob(f"{self._path.name}*"))
        figures = {"bytes_per_match": round(size / mark, 1)}
        for name, arguments in (
            ("leaderboard", ("leaderboard",)),
            ("matches", ("matches", "--limit", "50")),
            ("matches_of_bot", ("matches", "--bot", "bot-03", "--limit", "50")),
            ("show", ("show", COLD)),
        ):
            figures[f"{name}_cpu_s"] = self._command(*arguments).cpu_s
        figures |= self._measure_cold()
        with Store.open(self._path, read_only=True) as store:
            if mark <= self._check_up_to:
                faults: list[str] = []
                figures["check_s"], figures["check_cpu_s"] = timed(
                    lambda: faults.extend(store.integrity.check())
                )
                if faults:
                    raise SystemExit(f"the store is damaged: {faults[0]}")
            copy = self._path.with_name("backup.db")
            copy.unlink(missing_ok=True)
            figures["backup_s"], figures["backup_cpu_s"] = timed(lambda: store.backup(copy))
            copy.unlink()
        return {name: round(value, 2) for name, value in figures.items()}

    def _measure_cold(self) -> dict[str, float]:
        """Move a tournament to files and back, and compare the output of commands about it."""
        # As JSON: the generated matches are not legal, so no board can be drawn.
        one = ("show", f"{COLD}/5", "--format", "json")
        told = (("leaderboard",), ("matches", "--tournament", COLD), one)
        warm = [self._command(*arguments) for arguments in told]
        moved = self._command("archive", "--cold", COLD)
        cold = [self._command(*arguments) for arguments in told]
        back = self._command("unarchive", COLD)
        for arguments, before, after in zip(told, warm, cold, strict=True):
            if before.text != after.text:
                raise SystemExit(f"arena {' '.join(arguments)} tells something else of archived matches")
        return {
            "archive_cpu_s": moved.cpu_s,
            "unarchive_cpu_s": back.cpu_s,
            "cold_matches_cpu_s": cold[1].cpu_s,
            "cold_match_cpu_s": cold[2].cpu_s,
        }

    def _command(self, *arguments: str) -> Command:
        """Run a command of the arena on the store."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-P", "-m", "arena", *arguments, "--db", str(self._path)]
        ended = subprocess.run(command, check=True, stdout=subprocess.PIPE)  # noqa: S603 - our own command
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Command(ended.stdout, cpu)

    def _judge(self) -> int:
        """Compare the figures with the bounds, and print violations; return 1 if there are any, else 0."""
        if not self._figures:
            return 0
        first, last = self._figures[0], self._figures[-1]
        if not {"saved_per_cpu_s"} <= first.keys() & last.keys():
            return 0
        ratio = last["saved_per_cpu_s"] / first["saved_per_cpu_s"]
        print(f"# the last rate of saving is {ratio:.2f} of the first")
        wrong = [f"{ratio:.2f} of the first rate of saving, not {LAST_RATE}"] if ratio < LAST_RATE else []
        if last["leaderboard_cpu_s"] > LEADERBOARD_S:
            wrong.append(f"a leaderboard takes {last['leaderboard_cpu_s']} s, more than {LEADERBOARD_S}")
        for text in wrong:
            print(f"# out of bounds: {text}")
        return bool(wrong)


def _new_tournament(name: str) -> NewTournament:
    return NewTournament(
        name=name,
        type="round-robin",
        game="connect-four",
        num_actions=COLUMNS,
        pool=PoolRecord(mode="move", move_ms=5000),
        seed=1,
        config="",
        event="simulated",
        site="",
    )


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Return the elapsed and the CPU seconds of some work, without Python's garbage collector."""
    gc.collect()
    gc.disable()
    try:
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        return time.perf_counter() - wall, time.process_time() - cpu
    finally:
        gc.enable()


if __name__ == "__main__":
    sys.exit(main())

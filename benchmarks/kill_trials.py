"""Kills tournaments with `kill -9` at any moment, resumes them, and counts what was lost, doubled or left."""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from arena_db.errors import DatabaseError
from arena_db.records import MatchFilter
from arena_db.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence

_PR_SET_CHILD_SUBREAPER = 36
_ORPHAN_S = 2.0
"""Seconds within which everything that a killed run started must have ended."""
_DEADLINE_S = 1800
"""Timeout in seconds: long enough for a busy machine, so that only a hang exceeds it."""
_MAX_KILLS = 3
BOTS = ("random", "minimax:depth=1")
_OPTIONS = (
    "--game",
    "tic-tac-toe",
    "--srand",
    "7",
    "--st",
    "30",
    # Generous, because slow starts of bots on a busy machine are not under test.
    "--init-time",
    "600",
    "--concurrency",
    "2",
    "--force-concurrency",
)
_PHASES = ("before_plan", "in_play", "after_play")
"""Phases that a kill can interrupt: before the plan is stored, matches, and the tables at the end."""
FAILURES = ("orphans", "left_files", "wrong_results", "faulty_stores", "wrong_exits")
"""The figures that must be 0."""


def main() -> None:
    """Run the trials, print their figures as one line of JSON, and fail if one that must be 0 is not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1, help="seed of the moments of the kills")
    parser.add_argument("--rounds", type=int, default=50, help="rounds of each tournament, two matches each")
    parser.add_argument("--isolation", default="auto", help="of the bots")
    parser.add_argument("--bots", nargs=2, default=BOTS, metavar="BOT", help="of each tournament")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        trials = Trials(
            Path(folder), arguments.rounds, arguments.isolation, arguments.seed, bots=arguments.bots
        )
        figures = trials.run(arguments.trials)
    print(json.dumps(figures))
    sys.exit(any(figures[key] for key in FAILURES))


class Trials:
    """One tournament, run again and again through kills; results must equal those of an undisturbed run."""

    def __init__(
        self, folder: Path, rounds: int, isolation: str, seed: int, *, bots: Sequence[str] = BOTS
    ) -> None:
        # Orphans of a killed run become children of this process, which can then count them.
        if ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1):
            raise OSError("this system has no subreapers; the trials need Linux")
        self._folder = folder
        self._temporary = folder / "temporary"
        self._temporary.mkdir()
        # A bot meets itself only in a match.
        kind = "match" if len(set(bots)) == 1 else "tournament"
        self._plan = [kind, *bots, *_OPTIONS, "--rounds", str(rounds), "--isolation", isolation]
        self._chance = random.Random(seed)  # noqa: S311 - moments, not secrets
        self._figures: Counter[str] = Counter()
        self._whole_s = 0.0
        """Duration of an undisturbed run."""

    def run(self, num_trials: int) -> dict[str, float]:
        """Run trials; the figures count what went wrong, and what the kills interrupted."""
        began = time.monotonic()
        self._start(self._plan, self._folder / "warm.db").communicate()
        reference = self._folder / "reference.db"
        started = time.monotonic()
        self._expect(self._start(self._plan, reference), {0})
        self._whole_s = time.monotonic() - started
        expected = results(reference)
        self.refuse_faults(reference)
        for trial in range(num_trials):
            store = self._folder / f"{trial}.db"
            command = self._kill(store)
            if command:
                self._finish(command, store, contested=trial % 2 == 1)
                # A killed run leaves its temporary files for the next one to delete.
                self._figures["left_files"] += len(list(self._temporary.iterdir()))
            with Store.open(store, read_only=True) as opened:
                self._figures["faulty_stores"] += bool(opened.integrity.check())
            self._figures["wrong_results"] += results(store) != expected
        counted = {key: self._figures[key] for key in ("kills", *_PHASES, "contests", *FAILURES)}
        wall_s = round(time.monotonic() - began, 1)
        return {"trials": num_trials, "matches": len(expected), **counted, "wall_s": wall_s}

    def refuse_faults(self, reference: Path) -> None:
        """End the trials if a bot failed in the undisturbed tournament: all others would differ from it."""
        faults = faults_in(reference) if not self._figures["wrong_exits"] else ["see above"]
        if faults:
            sys.exit(f"the tournament that nobody kills failed: {faults[:3]}")

    def _kill(self, store: Path) -> list[str]:
        """Run the tournament and kill it, one to three times; return the command that resumes it."""
        command = self._plan
        for _ in range(self._chance.randint(1, _MAX_KILLS)):
            started = time.monotonic()
            process = self._start(command, store)
            try:
                process.wait(self._chance.uniform(0, self._whole_s))
                if command == self._plan:
                    # The machine has become faster: later moments would come too late again.
                    self._whole_s = min(self._whole_s, time.monotonic() - started)
            except subprocess.TimeoutExpired:
                process.kill()
                self._figures["kills"] += 1
            process.communicate()
            self._figures["orphans"] += count_orphans()
            phase = phase_of(store)
            self._figures[phase] += process.returncode < 0
            if phase == "after_play":
                return []
            if phase == "in_play":
                command = ["resume"]
        return command

    def _finish(self, command: list[str], store: Path, *, contested: bool) -> None:
        """Run the tournament to its end; if it is contested, two processes try to resume it, and one may."""
        if contested and command == ["resume"]:
            self._figures["contests"] += 1
            rivals = [self._start(command, store) for _ in range(2)]
            self._expect(rivals[0], {0, 2})
            self._expect(rivals[1], {2} if rivals[0].returncode == 0 else {0})
        else:
            self._expect(self._start(command, store), {0})
        self._figures["orphans"] += count_orphans()

    def _start(self, command: list[str], store: Path) -> subprocess.Popen[str]:
        """Start the arena in a session of its own."""
        own = {"TMPDIR": self._temporary, "ARENA_HOME": self._folder, "ARENA_CACHE": self._folder / "cache"}
        return subprocess.Popen(  # noqa: S603 - our own code
            [sys.executable, "-m", "arena", *command, "--quiet", "--db", str(store)],
            env={**os.environ, **{key: str(path) for key, path in own.items()}},
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def _expect(self, process: subprocess.Popen[str], codes: set[int]) -> None:
        _, errors = process.communicate(timeout=_DEADLINE_S)
        if process.returncode not in codes:
            self._figures["wrong_exits"] += 1
            print(f"{process.args} ended with {process.returncode}: {errors}", file=sys.stderr)


def phase_of(store: Path) -> str:
    """Return the phase that a kill has interrupted."""
    try:
        with Store.open(store, read_only=True) as opened:
            tournament = opened.tournaments.last(unfinished=False)
    except DatabaseError:
        return "before_plan"
    if tournament is None:
        return "before_plan"
    return "after_play" if tournament.state == "finished" else "in_play"


def results(store: Path) -> list[tuple[int, str, tuple[int, ...]]]:
    """Return number, outcome and actions of every finished match."""
    with Store.open(store, read_only=True) as opened:
        found = opened.matches.newest(MatchFilter(rated_only=False), limit=1_000_000)
    return sorted((match.number, match.outcome, match.actions) for match in found if match.is_final)


def faults_in(store: Path) -> list[str]:
    """Return why each match ended that was not decided by the rules."""
    with Store.open(store, read_only=True) as opened:
        found = opened.matches.newest(MatchFilter(rated_only=False), limit=1_000_000)
    return [match.reason for match in found if match.termination != "rules"]


def count_orphans() -> int:
    """Wait two seconds for the processes that a run left behind; return how many have not ended."""
    deadline = time.monotonic() + _ORPHAN_S
    while time.monotonic() < deadline:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return 0
        if pid == 0:
            time.sleep(0.01)
    return len(Path(f"/proc/self/task/{os.getpid()}/children").read_text("ascii").split())


if __name__ == "__main__":
    main()

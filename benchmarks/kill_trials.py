"""Kills tournaments with `kill -9` at random moments, resumes them, and counts what was lost, doubled or left."""

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

from arena_db.errors import DatabaseError
from arena_db.records import MatchFilter
from arena_db.store import Store

_PR_SET_CHILD_SUBREAPER = 36
_ORPHAN_S = 2.0
"""Seconds within which whatever a killed run started must have ended."""
_DEADLINE_S = 300
_MAX_KILLS = 3
_BOTS = ("random", "minimax:depth=1", "mcts:playouts=30")
_OPTIONS = ("--game", "tic-tac-toe", "--srand", "7", "--st", "30", "--concurrency", "2", "--force-concurrency")
_FAILURES = ("orphans", "left_files", "wrong_tables", "faulty_stores", "wrong_exits")
"""The figures that must be 0."""


def main() -> None:
    """Run the trials, print their figures as one line of JSON, and fail if one that must be 0 is not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1, help="of the moments of the kills")
    parser.add_argument("--rounds", type=int, default=20, help="of each tournament; one is 6 matches")
    parser.add_argument("--isolation", default="auto")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        trials = Trials(Path(folder), arguments.rounds, arguments.isolation, arguments.seed)
        figures = trials.run(arguments.trials)
    print(json.dumps(figures))
    sys.exit(any(figures[key] for key in _FAILURES))


class Trials:
    """One tournament, held again and again through kills; its results must always be those without a kill."""

    def __init__(self, folder: Path, rounds: int, isolation: str, seed: int) -> None:
        # Whatever a killed run leaves behind becomes a child of this process, where it can be counted.
        if ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1):
            raise OSError("this system has no subreapers")
        self._folder = folder
        self._temporary = folder / "temporary"
        self._temporary.mkdir()
        self._command = ["tournament", *_BOTS, *_OPTIONS, "--rounds", str(rounds), "--isolation", isolation]
        self._chance = random.Random(seed)  # noqa: S311 - moments, not secrets
        self._figures: Counter[str] = Counter()

    def run(self, num_trials: int) -> dict[str, float]:
        """Run trials; the figures tell how many went wrong and in which way, and when the kills struck."""
        began = time.monotonic()
        self._finish(self._command, self._folder / "reference.db")
        whole_s = time.monotonic() - began
        expected = results(self._folder / "reference.db")
        for trial in range(num_trials):
            store = self._folder / f"{trial}.db"
            self._finish(self._kill(store, whole_s), store, twice=trial % 2 == 1)
            self._figures["left_files"] += len(list(self._temporary.iterdir()))
            with Store.open(store, read_only=True) as opened:
                self._figures["faulty_stores"] += bool(opened.check())
            self._figures["wrong_tables"] += results(store) != expected
        phases = ("kills", "before_plan", "in_play", "after_play")
        return {
            "trials": num_trials,
            "matches": len(expected),
            **{key: self._figures[key] for key in (*phases, "contests", *_FAILURES)},
            "wall_s": round(time.monotonic() - began, 1),
        }

    def _kill(self, store: Path, whole_s: float) -> list[str]:
        """Start the tournament and kill it, once to three times; give the command that goes on with it."""
        command = self._command
        for _ in range(self._chance.randint(1, _MAX_KILLS)):
            process = self._start(command, store)
            try:
                process.wait(self._chance.uniform(0, whole_s))
            except subprocess.TimeoutExpired:
                process.kill()
                self._figures["kills"] += 1
            process.communicate()
            self._figures["orphans"] += count_orphans()
            phase = phase_of(store)
            self._figures[phase] += 1
            if phase == "after_play":
                return ["resume", "--rounds", command[-3]] if False else []
            if phase == "in_play":
                command = ["resume"]
        return command

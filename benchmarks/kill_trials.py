"""Kills coordinators with `kill -9` at random moments, resumes, and checks that nothing is lost, doubled or orphaned."""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from arena_db.records import MatchFilter
from arena_db.store import Store

_PR_SET_CHILD_SUBREAPER = 36
_ORPHAN_S = 2.0
_DEADLINE_S = 300
_BOTS = ("random", "minimax:depth=1", "mcts:playouts=30")
_OPTIONS = ("--game", "tic-tac-toe", "--rounds", "10", "--srand", "7", "--st", "30", "--concurrency", "2", "--force-concurrency", "--quiet")


def main() -> None:
    """Run the trials and print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    print(json.dumps(run_trials(arguments.trials, arguments.seed)))


def run_trials(num_trials: int, seed: int) -> dict[str, object]:
    """Run trials; the figures say how many went wrong, and in which way."""
    # Whatever a killed coordinator leaves behind becomes a child of this process, where it can be counted.
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        reference = Path(folder, "reference.db")
        finish("tournament", *_BOTS, *_OPTIONS, "--db", str(reference))
        whole_s = time.monotonic() - began
        expected = results(reference)
        figures = {"trials": num_trials, "killed": 0, "kills": 0, "orphans": 0, "wrong_tables": 0, "faulty_stores": 0}
        for trial in range(num_trials):
            store = Path(folder, f"trial-{trial}.db")
            figures["kills"] += (kills := kill_and_resume(store, chance, whole_s, figures))
            figures["killed"] += kills > 0
            with Store.open(store, read_only=True) as opened:
                figures["faulty_stores"] += bool(opened.check())
            figures["wrong_tables"] += results(store) != expected
            store.unlink()
    return {**figures, "matches": len(expected), "wall_s": round(time.monotonic() - began, 1)}


def kill_and_resume(store: Path, chance: random.Random, whole_s: float, figures: dict[str, int]) -> int:
    """Play one tournament to its end through one to three kills; give the number of kills that hit."""
    command = ["tournament", *_BOTS, *_OPTIONS, "--db", str(store)]
    kills = 0
    for _ in range(chance.randint(1, 3)):
        process = start(*command)
        try:
            process.wait(chance.uniform(0.1, 1.0) * whole_s)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            kills += 1
        figures["orphans"] += count_orphans()
        if store.exists() and has_tournament(store):
            command = ["resume", "last", "--quiet", "--db", str(store)]
        if process.returncode == 0:
            return kills
    finish(*command)
    return kills


def has_tournament(store: Path) -> bool:
    """Tell whether the plan was stored before the kill."""
    with Store.open(store) as opened:
        return opened.last_tournament(unfinished=False) is not None


def results(store: Path) -> list[tuple[int, str, tuple[int, ...]]]:
    """Give number, outcome and actions of every match that was settled."""
    with Store.open(store, read_only=True) as opened:
        found = opened.matches(MatchFilter(rated_only=False), limit=10_000)
    return sorted((match.number, match.outcome, match.actions) for match in found if match.outcome != "void")


def count_orphans() -> int:
    """Wait for the processes a kill left behind to end; give the number of those that have not after two seconds."""
    deadline = time.monotonic() + _ORPHAN_S
    while time.monotonic() < deadline:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return 0
        if pid == 0:
            time.sleep(0.01)
    return len(children())


def children() -> list[int]:
    """List the children of this process that are alive."""
    return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text("ascii").split()]


def start(*arguments: str) -> subprocess.Popen[bytes]:
    """Start the arena in a session of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "arena", *arguments],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def finish(*arguments: str) -> None:
    """Run the arena to its end; any failure ends the trials."""
    process = start(*arguments)
    _, errors = process.communicate(timeout=_DEADLINE_S)
    if process.returncode:
        raise SystemExit(f"arena {' '.join(arguments)} ended with {process.returncode}: {errors.decode()}")


if __name__ == "__main__":
    main()

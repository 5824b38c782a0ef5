"""Measures how fast the exact solver scores all actions of random positions, beside BitBully if available."""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from typing import IO, TYPE_CHECKING, NamedTuple

from arena.games.connect_four import ConnectFour
from arena.games.solver.connect_four_solver import ConnectFourSolver

if TYPE_CHECKING:
    from arena_plugins import State

GAME = ConnectFour()
SCRIPT = Path(__file__).parent / "peers" / "bitbully_scores.py"
STARTS = (14, 18, 22)
"""Minimum numbers of stones of the sampled positions."""
LAST_PLY = 34


class Run(NamedTuple):
    """The figures of one run over a set of positions."""

    bulk_s: float
    """CPU seconds for all positions, in one call."""
    single_ms: list[float]
    """Milliseconds of each position, asked separately."""
    oracle_s: float | None
    """CPU seconds of the oracle."""


def main() -> None:
    """Print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--positions", type=int, default=300, help="of each set")
    parser.add_argument("--runs", type=int, default=3, help="number of runs, alternating with the oracle's")
    parser.add_argument("--oracle-python", help="a Python interpreter that has BitBully")
    chosen = parser.parse_args()
    oracle = start(chosen.oracle_python) if chosen.oracle_python else None
    result: dict[str, object] = {
        "benchmark": "solver_speed",
        "positions": chosen.positions,
        "runs": chosen.runs,
    }
    for ply in STARTS:
        states = sample(chosen.positions, ply)
        measure(states[:5], oracle)
        result[f"ply_{ply}_and_later"] = summary(
            [measure(states, oracle) for _ in range(chosen.runs)], len(states)
        )
    if oracle is not None:
        _pipe(oracle.stdin).close()
        oracle.wait()
    print(json.dumps(result))


def sample(number: int, first_ply: int) -> list[State]:
    """Draw positions, equally many of each ply from `first_ply` to `LAST_PLY`."""
    rng = Random(first_ply)  # noqa: S311 # play needs no secrets
    states: list[State] = []
    while len(states) < number:
        state: State = GAME.initial_state()
        for _ in range(first_ply + len(states) % (LAST_PLY + 1 - first_ply)):
            if not state.is_terminal:
                state = state.child(rng.choice(state.legal_actions))
        if not state.is_terminal:
            states.append(state)
    return states


def measure(states: list[State], oracle: subprocess.Popen[str] | None) -> Run:
    """Score all actions of all positions: in one call, one by one, and by the oracle."""
    solver = ConnectFourSolver(GAME, None)
    begin = time.process_time()
    solver.label(states)
    bulk_s = time.process_time() - begin
    solver, single_ms = ConnectFourSolver(GAME, None), list[float]()
    for state in states:
        begin = time.perf_counter()
        solver.solve(state)
        single_ms.append(1000 * (time.perf_counter() - begin))
    return Run(bulk_s, single_ms, None if oracle is None else ask(oracle, states))


def start(python: str) -> subprocess.Popen[str]:
    """Start the oracle."""
    return subprocess.Popen([python, str(SCRIPT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603 - ours


def ask(oracle: subprocess.Popen[str], states: list[State]) -> float:
    """Return the CPU seconds that the oracle needs, with an empty table."""
    asked = {"mode": "moves", "positions": [list(state.history) for state in states]}
    requests = _pipe(oracle.stdin)
    requests.write(json.dumps(asked) + "\n")
    requests.flush()
    return float(json.loads(_pipe(oracle.stdout).readline())["seconds"])


def _pipe(stream: IO[str] | None) -> IO[str]:
    if stream is None:
        raise RuntimeError("the oracle has no pipe")
    return stream


def summary(runs: list[Run], number: int) -> dict[str, float]:
    """Return the medians over the runs."""
    times = [sorted(run.single_ms) for run in runs]
    found = {
        "positions_per_cpu_s": number / statistics.median(run.bulk_s for run in runs),
        "median_ms": statistics.median(statistics.median(of_run) for of_run in times),
        "p95_ms": statistics.median(of_run[int(0.95 * len(of_run))] for of_run in times),
        "max_ms": statistics.median(of_run[-1] for of_run in times),
    }
    ratios = [run.oracle_s / run.bulk_s for run in runs if run.oracle_s is not None]
    if ratios:
        found |= {"ratio_to_oracle": statistics.median(ratios), "least_ratio": min(ratios)}
    return {name: round(value, 3) for name, value in found.items()}


if __name__ == "__main__":
    sys.exit(main())

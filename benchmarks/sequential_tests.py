"""Measures lengths, errors and estimates of sequential tests between simulated bots, as Markdown tables."""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from arena.schedules.sprt_schedule import SprtSchedule, SprtState, SprtTest
from schedules import SimulatedEvent, play_in_flight
from sprt_worlds import (
    NUM_OPENINGS,
    WORLDS,
    TabulatedTest,
    elo_of,
    measure_estimates,
    play_matches,
    play_pairs,
    run_tests,
)

ELOS = (0.0, 15.0, 30.0, 60.0, 110.0, 180.0)
IN_FLIGHT = (1, 8, 256)
"""Numbers of pairs that are played at once."""
SHARES = {"H0": 0.0, "middle": 0.5, "H1": 1.0, "2 H1": 2.0}


def print_lengths(test: SprtTest, num_openings: int, num_runs: int, seed: int) -> None:
    """Print mean pairs and shares of decisions, by true strength between and beyond the hypotheses."""
    hypotheses = f"[{test.elo0:g}, {test.elo1:g}] nElo"
    print(f"\nTests of {hypotheses} with {num_openings} openings, {num_runs} runs per row.\n")
    print(
        "| world | strength | pairs | H1 | H0 | undecided |\n| --- | --- | --- | --- | --- | --- |",
        flush=True,
    )
    rng = np.random.default_rng(seed)
    for name, world in WORLDS.items():
        for where, share in SHARES.items():
            elo = elo_of(test.elo0 + share * (test.elo1 - test.elo0), world)
            found = run_tests(play_pairs(elo, world, num_runs, num_openings, rng), test)
            shares = " | ".join(f"{100 * np.mean(found.decision == side):.1f} %" for side in (1, -1, 0))
            print(f"| {name} | {where} | {found.num_pairs.mean():.0f} | {shares} |", flush=True)


def print_estimates(test: SprtTest, num_runs: int, seed: int) -> None:
    """Print how often the interval of the estimate after a test contains the truth."""
    print(f"\nElo after tests of [{test.elo0:g}, {test.elo1:g}] nElo, {num_runs} runs per row.\n")
    print("| world | Elo | covered | median | mean width |\n| --- | --- | --- | --- | --- |", flush=True)
    cases = [(name, elo) for name in WORLDS for elo in ELOS]
    found = measure_estimates([(elo, WORLDS[name]) for name, elo in cases], test, num_runs, seed)
    for (name, _), row in zip(cases, found, strict=True):
        values = f"{100 * row.covered:.1f} % | {row.bias:+.1f} | {row.width:.0f}"
        print(f"| {name} | {row.truth:.0f} | {values} |", flush=True)


def print_in_flight(test: SprtTest, num_openings: int, num_runs: int, seed: int) -> None:
    """Print decisions and lengths of tests by the number of pairs in flight, played match by match."""
    print(f"\nTests of {num_runs} runs a row with pairs in flight; won matches take a third of the time.\n")
    print(
        "| strength | in flight | pairs | H1 | H0 | undecided | other decision than with 1 |\n"
        "| --- | --- | --- | --- | --- | --- | --- |",
        flush=True,
    )
    world = WORLDS["11 % draws"]
    tabulated = TabulatedTest(**asdict(test))
    schedule = SprtSchedule(test=tabulated, openings=[(place,) for place in range(num_openings)])
    for where in ("H0", "H1"):
        elo = elo_of(test.elo0 + SHARES[where] * (test.elo1 - test.elo0), world)
        found: dict[int, list[SprtState]] = {num: [] for num in IN_FLIGHT}
        rng = np.random.default_rng(seed)
        for _ in range(num_runs):
            points, seconds = play_matches(elo, world, num_openings, rng)
            halves = np.array([*points.values()]).reshape(-1, 2).sum(axis=1)
            tabulated.tabulate(np.rint(2 * halves).astype(np.int64))
            for num, states in found.items():
                event = SimulatedEvent(schedule, 2)
                play_in_flight(event, num, points, seconds)
                states.append(schedule.state(event.results))
        for num, states in found.items():
            ends = [state.decision for state in states]
            shares = " | ".join(
                f"{100 * ends.count(end) / num_runs:.1f} %" for end in ("H1", "H0", "undecided")
            )
            length = np.mean([state.num_pairs for state in states])
            others = sum(one != other for one, other in zip(states, found[1], strict=True))
            print(f"| {where} | {num} | {length:.0f} | {shares} | {others} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000, help="simulated tests per row")
    parser.add_argument(
        "--in-flight", type=int, default=0, metavar="N", help="only so many tests a row with pairs in flight"
    )
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    start = time.process_time()
    if options.in_flight:
        print_in_flight(SprtTest(), NUM_OPENINGS, options.in_flight, options.seed)
        return
    print_lengths(SprtTest(), NUM_OPENINGS, options.runs, options.seed)
    print_estimates(SprtTest(), options.runs, options.seed)
    print(f"\n{time.process_time() - start:.0f} s of CPU.", flush=True)


if __name__ == "__main__":
    main()

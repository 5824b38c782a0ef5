"""Measures accuracy and cost of the ratings of simulated ladders; prints Markdown tables."""

from __future__ import annotations

import argparse
import resource
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from arena.schedules.protocol import PlannedBatch
from ladder_worlds import SimulatedLadder, measure_ladder, measure_newcomer


def print_ratings(num_bots: int, num_ladders: int) -> None:
    """Print coverage, errors and order of the ratings after 16 and 32 pairs per bot."""
    print(
        "\n| pairs a bot | ratings | adjacent gaps | ends | bias of ends | rmse | tau | best found |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
        flush=True,
    )
    for pairs in (16, 32):
        rows = [measure_ladder(num_bots, pairs, seed) for seed in range(num_ladders)]
        ratings, adjacent, ends, bias, square, tau, best = np.array(rows).mean(axis=0).tolist()
        covered = " | ".join(f"{100 * share:.1f}" for share in (ratings, adjacent, ends))
        print(
            f"| {pairs} | {covered} | {bias:+.0f} | {square**0.5:.0f} | {tau:.2f} | {best:.2f} |", flush=True
        )


def print_newcomers(num_ladders: int) -> None:
    """Print how soon a newcomer's rating is accurate in a field of 12."""
    print(
        "\n| newcomer | pairs to ± 60 Elo | covered | bias |\n| --- | --- | --- | --- |",
        flush=True,
    )
    for elo in (0.0, 300.0, 600.0):
        rows = [measure_newcomer(elo, seed) for seed in range(num_ladders)]
        pairs, held, away = np.array(rows).mean(axis=0).tolist()
        print(f"| {elo:+.0f} | {pairs:.0f} | {100 * held:.0f} | {away:+.0f} |", flush=True)


def print_costs() -> None:
    """Print the CPU time of planning a pair, and the memory of this process afterwards.

    The pairs played before are between bots near each other in strength, as those of a ladder, but are drawn
    without its schedule: at 1,000 bots that would take an hour on a busy machine.
    """
    print(
        "\n| bots | newcomers | pairs played | ms a planned pair | peak of the process, MB |\n"
        "| --- | --- | --- | --- | --- |",
        flush=True,
    )
    for num_bots, num_new, pairs_each in ((24, 0, 32), (1000, 0, 32), (1000, 1000, 32)):
        ladder = SimulatedLadder(np.random.default_rng(1).normal(0, 250, num_bots).tolist(), 1)
        ladder.fill(num_bots * pairs_each // 2)
        ladder.seats = tuple(who._replace(joined=seat < num_new) for seat, who in enumerate(ladder.seats))
        view = ladder.view()
        start, num_pairs = time.process_time(), 0
        while num_pairs < num_bots:
            match ladder.schedule.next(view, 2**30):
                case PlannedBatch(matches):
                    num_pairs += len(matches) // 2
                case other:
                    raise AssertionError(other)
        milliseconds = 1000 * (time.process_time() - start) / num_pairs
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"| {num_bots} | {num_new} | {len(view.plan) // 2} | {milliseconds:.2f} | {peak:.0f} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ladders", type=int, default=200, help="simulated ladders per row")
    parser.add_argument("--bots", type=int, default=24)
    parser.add_argument("--costs", action="store_true", help="measure only the cost of planning a pair")
    options = parser.parse_args()
    start = time.process_time()
    print_costs()
    if options.costs:
        return
    print_ratings(options.bots, options.ladders)
    print_newcomers(options.ladders)
    print(f"\n{time.process_time() - start:.0f} s of CPU.", flush=True)


if __name__ == "__main__":
    main()

"""Measures Swiss tournaments and knockouts: accuracy of their ratings, and how often the best bot wins."""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from event_worlds import best_wins_knockout, best_wins_round_robin, best_wins_swiss, measure_event, swiss

if TYPE_CHECKING:
    from collections.abc import Callable

WINNERS: dict[str, Callable[[int], float]] = {
    "Swiss, 5 rounds of 3 pairs": best_wins_swiss,
    "knockout, 8 pairs": partial(best_wins_knockout, pairs=8),
    "double elimination, 4 pairs": partial(best_wins_knockout, pairs=4, is_double=True),
    "round robin, 1 pair": best_wins_round_robin,
}
"""Tournaments of 16 bots and about 120 pairs each."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=200, help="simulated Swiss tournaments per row")
    parser.add_argument(
        "--seeds", type=int, default=200, help="simulated tournaments of each kind for the table of winners"
    )
    parser.add_argument("--bots", type=int, default=24, help="number of bots of a Swiss tournament")
    parser.add_argument("--deviation", type=float, default=250.0, help="of their strengths, Elo")
    options = parser.parse_args()
    start = time.process_time()
    print("| best of 16 bots wins | share |\n| --- | --- |", flush=True)
    for name, best_wins in WINNERS.items():
        share = float(np.mean([best_wins(seed) for seed in range(options.seeds)]))
        print(f"| {name} | {share:.2f} |", flush=True)
    print(
        "\n| Swiss | ratings | adjacent gaps | ends | bias of ends | rmse | "
        "widths: adjacent gaps, ends (medians) |\n"
        "| --- | --- | --- | --- | --- | --- | --- |",
        flush=True,
    )
    for pairs in (1, 3):
        found = [
            measure_event(swiss(7, pairs, seed), options.bots, seed, options.deviation)
            for seed in range(options.events)
        ]
        for kind, rows in zip(("plain", "replayed"), zip(*found, strict=True), strict=True):
            ratings, adjacent, ends, bias, square, *_ = np.array(rows).mean(axis=0).tolist()
            wide, near = np.median(np.array(rows)[:, -2:], axis=0).tolist()
            covered = " | ".join(f"{100 * share:.1f}" for share in (ratings, adjacent, ends))
            name = f"7 rounds, {pairs} pair{'s' * (pairs > 1)}, {kind}"
            print(
                f"| {name} | {covered} | {bias:+.0f} | {square**0.5:.0f} | {near:.0f}, {wide:.0f} |",
                flush=True,
            )
    print(f"\n{time.process_time() - start:.0f} s of CPU.", flush=True)


if __name__ == "__main__":
    main()

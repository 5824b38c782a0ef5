"""Measures what the ratings of simulated ladders are worth, as a Markdown table."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from ladder_worlds import measure_ladder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ladders", type=int, default=200, help="simulated ladders a row")
    parser.add_argument("--bots", type=int, default=24)
    options = parser.parse_args()
    start = time.process_time()
    print(
        "| pairs a bot | ratings | adjacent gaps | ends | bias of ends | rmse | tau | best found |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
        flush=True,
    )
    for pairs in (16, 32):
        rows = [measure_ladder(options.bots, pairs, seed) for seed in range(options.ladders)]
        ratings, adjacent, ends, bias, square, tau, best = np.array(rows).mean(axis=0).tolist()
        covered = " | ".join(f"{100 * share:.1f}" for share in (ratings, adjacent, ends))
        print(
            f"| {pairs} | {covered} | {bias:+.0f} | {square**0.5:.0f} | {tau:.2f} | {best:.2f} |", flush=True
        )
    print(f"\n{time.process_time() - start:.0f} s of CPU.", flush=True)


if __name__ == "__main__":
    main()

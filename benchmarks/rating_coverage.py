"""Measures how often 95 % intervals of ratings contain the truth in simulated fields, as Markdown."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from arena.rating.fit import head_to_head
from arena.rating.model import look_level
from arena.rating.sums import MatchArrays, encounters
from rating_designs import DESIGNS
from rating_worlds import measure

LOOKS = 20
PAIRS_A_LOOK = 10


def false_verdicts(num_runs: int, seed: int) -> float:
    """Return the share of runs in which one of two equal bots is called stronger in any of 20 looks."""
    rng = np.random.default_rng(seed)
    num = num_runs * LOOKS * PAIRS_A_LOOK
    run = np.repeat(np.arange(num_runs), LOOKS * PAIRS_A_LOOK)
    pair = np.tile(np.arange(LOOKS * PAIRS_A_LOOK), num_runs)
    half = rng.choice(3, size=(2, num), p=(0.35, 0.3, 0.35))
    low, high, own = 2 * run, 2 * run + 1, np.arange(num)
    columns = [
        np.stack([low, high, half[0], own, pair, 2 * own], axis=1),
        np.stack([high, low, half[1], own, pair, 2 * own + 1], axis=1),
    ]
    is_separated = np.zeros(num_runs, dtype=bool)
    for look in range(1, LOOKS + 1):
        played = pair < look * PAIRS_A_LOOK
        matches = MatchArrays.of(np.concatenate([rows[played] for rows in columns]))
        gaps = head_to_head(encounters(matches), look_level(look))
        is_separated |= [gap.is_separated for gap in gaps]
    return float(is_separated.mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fields", type=int, default=1000, help="simulated fields per row")
    parser.add_argument("--runs", type=int, default=2000, help="number of runs of 20 looks")
    parser.add_argument("--only", default="", help="only designs whose name contains this")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(
        "| design | fields | gap, bias | ± of the gap | ratings |\n| --- | --- | --- | --- | --- |",
        flush=True,
    )
    start = time.process_time()
    for design in DESIGNS:
        if options.only in design.name:
            row = measure(design, options.fields, options.seed).row()
            gap = f"{row['gap']:.1f}, {row['bias']:+.0f} | {row['gap_plain']:.1f} (± {row['error']:.0f})"
            print(f"| {design.name} | {row['fields']} | {gap} | {row['ratings']:.1f} |", flush=True)
    if not options.only:
        share = false_verdicts(options.runs, options.seed)
        print(f"\nEqual bots, {LOOKS} looks, {options.runs} runs: {100 * share:.1f} % false verdicts.")
    print(f"{time.process_time() - start:.0f} s of CPU.", flush=True)


if __name__ == "__main__":
    main()

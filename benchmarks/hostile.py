"""Plays every hostile bot in every available tier and game; prints deviations, delays and leftovers."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from statistics import median

from arena.sandbox.tier import Tier, tiers_to_try
from arena.sandbox.tier_grades import grade
from arena.trials.suite import GAMES, Trial, TrialPlan, run_suite


def main() -> int:
    """Print one JSON line; return 1 if anything deviated."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=1, help="number of rounds; acceptance requires 20")
    parser.add_argument("--tiers", nargs="*", default=granted())
    parser.add_argument("--games", nargs="*", default=list(GAMES))
    parser.add_argument("--bots", nargs="*", help="names of hostile bots; all if none are given")
    parser.add_argument(
        "--no-starts", action="store_true", help="do not start a bot after each trial to time it"
    )
    chosen = parser.parse_args()
    began = time.monotonic()
    trials, left = run_suite(
        TrialPlan(chosen.tiers, chosen.games, chosen.repeats),
        None if chosen.bots is None else lambda row: row.name in chosen.bots,
        report,
        times_starts=not chosen.no_starts,
    )
    bad = [trial for trial in trials if trial.deviations]
    figures = {
        "benchmark": "hostile",
        "trials": dict(Counter(f"{trial.tier} {trial.game}" for trial in trials)),
        "deviations": dict(Counter(f"{trial.tier} {trial.game} {trial.name}" for trial in bad)),
        "survivors": sum("processes survived" in text for trial in bad for text in trial.deviations),
        "slowest_verdict_ms_over": max((trial.overshoot_ms for trial in trials), default=0.0),
        "left_in_the_kernel": sum("it left" in text for trial in bad for text in trial.deviations),
        "median_next_start_ms": {
            tier: median(trial.next_start_ms for trial in trials if trial.tier == tier)
            for tier in dict.fromkeys(trial.tier for trial in trials)
        },
        "slowest_next_start_ms": max((trial.next_start_ms for trial in trials), default=0.0),
        "stalls": sum(trial.num_stalls for trial in trials),
        "descriptors_left": left.descriptors,
        "files_left": left.files,
        "referee_rss_growth_mib": round(left.rss_bytes / (1 << 20), 1),
        "wall_s": round(time.monotonic() - began, 1),
    }
    print(json.dumps(figures))
    return 1 if bad else 0


def granted() -> list[str]:
    """Return the tiers with processes that this machine offers, weakest first."""
    return [tier.value for tier in reversed(tiers_to_try()) if tier is not Tier.T0 and grade(tier).is_granted]


def report(trial: Trial) -> None:
    """Print at once what went wrong."""
    for text in trial.deviations:
        print(f"{trial.tier} {trial.game} {trial.name}: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())

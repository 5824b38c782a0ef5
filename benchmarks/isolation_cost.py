"""Measures the cost of isolation: starting a process and the round trip of a move, by tier; prints JSON.

Run it on an idle machine: `python benchmarks/isolation_cost.py [--starts N] [--moves N]`.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import sys
import time

from arena.sandbox.process import Process, spawn
from arena.sandbox.process_settings import ProcessSettings
from arena.sandbox.starter import close_starter
from arena.sandbox.tier import Tier, tiers_to_try
from arena.sandbox.tier_grades import grade

ECHO = "import os\nwhile data := os.read(0, 65536): os.write(1, data)"
FILES = """
import os
while data := os.read(0, 65536):
    open(os.environ["HOME"] + "/x", "w").close()
    os.write(1, data)
"""
MOVE = b'{"type":"action","id":"5d1e0b77c2a94f13","action":3}\n'


def start(tier: Tier, script: str = ECHO) -> Process:
    process = spawn(ProcessSettings([sys.executable, "-I", "-S", "-B", "-c", script], tier))
    os.set_blocking(process.stdout, True)
    return process


def end(process: Process) -> None:
    process.kill()
    process.close()


def round_trip(process: Process) -> float:
    began = time.perf_counter()
    os.write(process.stdin, MOVE)
    os.read(process.stdout, len(MOVE))
    return time.perf_counter() - began


def start_ms(tier: Tier, num: int, *, fresh: bool = False) -> list[float]:
    """Return milliseconds from the start request to the first answer; `fresh` uses a new starter for each."""
    found: list[float] = []
    for _ in range(num):
        if fresh:
            close_starter()
        began = time.perf_counter()
        process = start(tier)
        round_trip(process)
        found.append(1000 * (time.perf_counter() - began))
        end(process)
    return found


def move_us(tier: Tier, num: int, script: str = ECHO, *, stops: bool = False) -> list[float]:
    """Return microseconds of a round trip; with `stops` the group is stopped before and resumed within it."""
    process = start(tier, script)
    round_trip(process)
    found: list[float] = []
    for _ in range(num):
        began = time.perf_counter()
        if stops:
            os.killpg(process.pid, signal.SIGSTOP)
            os.killpg(process.pid, signal.SIGCONT)
        round_trip(process)
        found.append(1e6 * (time.perf_counter() - began))
    end(process)
    return found


def median(values: list[float]) -> float:
    return round(statistics.median(values), 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=30)
    parser.add_argument("--moves", type=int, default=5000)
    given = parser.parse_args()
    tiers = [tier for tier in sorted(tiers_to_try()) if tier > Tier.T0 and grade(tier).is_granted]
    # Tiers alternate, so that other load affects all of them.
    starts: dict[Tier, list[float]] = {tier: [] for tier in tiers}
    fresh: dict[Tier, list[float]] = {tier: [] for tier in tiers}
    for _ in range(given.starts):
        for tier in tiers:
            fresh[tier] += start_ms(tier, 1, fresh=True)
            starts[tier] += start_ms(tier, 1)
    rows = [
        {
            "tier": tier.value,
            "start_ms": median(starts[tier]),
            "start_with_a_starter_ms": median(fresh[tier]),
            "move_us": median(move_us(tier, given.moves)),
            "move_with_pause_us": median(move_us(tier, given.moves, stops=True)),
            "move_with_a_file_us": median(move_us(tier, given.moves, FILES)),
        }
        for tier in tiers
    ]
    print(json.dumps({"kernel": grade(Tier.T1).kernel, "cores": os.cpu_count(), "median": rows}, indent=2))


if __name__ == "__main__":
    main()

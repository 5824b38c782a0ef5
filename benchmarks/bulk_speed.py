"""Measures compiled random matches for training data, in matches per second of CPU, alternating with pgx.

python benchmarks/bulk_speed.py --peer-python /path/to/a/python/with/pgx
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from arena.games.kernels.bulk import random_matches
from arena_plugins import load_game

PEER = Path(__file__).parent / "peers" / "pgx_play.py"
GAME = load_game("connect-four")


def main() -> None:
    """Print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=11, help="number of rounds; the result is the median")
    parser.add_argument("--matches", type=int, default=500_000, help="our matches per round")
    parser.add_argument("--peer-matches", type=int, default=50_000, help="matches of pgx per round")
    parser.add_argument("--batches", type=int, nargs="+", default=[256, 1024, 4096], help="tried by pgx")
    parser.add_argument("--peer-python", help="a Python interpreter that has pgx")
    chosen = parser.parse_args()
    if sys.platform == "linux":
        with suppress(OSError):
            os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    own_rate(chosen.matches, 0)  # compiles
    figures: dict[str, object] = {"benchmark": "bulk_speed", "game": GAME.name, "rounds": chosen.rounds}
    with ExitStack() as stack:
        peer = Pgx(chosen.peer_python, chosen.batches, stack) if chosen.peer_python else None
        turns = [
            (own_rate(chosen.matches, seed), peer.rate(chosen.peer_matches) if peer else None)
            for seed in range(chosen.rounds)
        ]
    figures["matches_per_cpu_s"] = round(statistics.median(ours for ours, _ in turns))
    if peer:
        figures["pgx_batch"] = peer.batch
        figures["pgx_matches_per_cpu_s"] = round(statistics.median(theirs for _, theirs in turns if theirs))
        figures["ratio"] = round(statistics.median(ours / theirs for ours, theirs in turns if theirs), 2)
    print(json.dumps(figures))


def own_rate(num_matches: int, seed: int) -> float:
    """Return matches per second of CPU."""
    began = time.process_time()
    random_matches(GAME, num_matches, seed)
    return num_matches / (time.process_time() - began)


class Pgx:
    """pgx in a process of its own."""

    def __init__(self, python: str, batches: list[int], stack: ExitStack) -> None:
        """Start the process; closing `stack` ends it."""
        command = [python, str(PEER), *map(str, batches)]
        self._process = stack.enter_context(
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603 - ours
        )
        stack.callback(self._process.terminate)
        self.batch: int = self._answer()["batch"]

    def rate(self, num_matches: int) -> float:
        """Return matches per second of CPU."""
        print(num_matches, file=self._process.stdin, flush=True)
        seconds, played = self._answer()
        return played / seconds

    def _answer(self) -> Any:  # noqa: ANN401 - JSON
        line = "" if self._process.stdout is None else self._process.stdout.readline()
        if not line:
            raise SystemExit(f"{PEER.name} failed, see above")
        return json.loads(line)


if __name__ == "__main__":
    main()

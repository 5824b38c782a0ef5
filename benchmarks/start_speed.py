"""Measures what the command line takes to start, in seconds of CPU, and a peer's import in turns."""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys

HELP = ("-m", "arena", "--help")
PEER = ("-c", "import kaggle_environments")
BARE = ("-c", "")


def main() -> None:
    """Print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="medians are taken over these")
    parser.add_argument("--peer-python", help="a Python that has kaggle-environments")
    chosen = parser.parse_args()
    sides = {"help": [sys.executable, *HELP], "bare_python": [sys.executable, *BARE]}
    if chosen.peer_python:
        sides["kaggle_import"] = [chosen.peer_python, *PEER]
    for command in sides.values():
        cpu_s(command)  # reads files from the disk, compiles them
    turns = [{name: cpu_s(command) for name, command in sides.items()} for _ in range(chosen.rounds)]
    figures: dict[str, object] = {"benchmark": "start_speed", "rounds": chosen.rounds}
    figures["cpu_s"] = {name: round(statistics.median(turn[name] for turn in turns), 3) for name in sides}
    if chosen.peer_python:
        figures["ratio"] = round(statistics.median(turn["kaggle_import"] / turn["help"] for turn in turns), 2)
    print(json.dumps(figures))


def cpu_s(command: list[str]) -> float:
    """Give the processor time of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120, check=True)  # noqa: S603 - ours
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


if __name__ == "__main__":
    main()

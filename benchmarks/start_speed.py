"""Measures start-up in seconds of CPU: the command line, a peer's import, and first moves of bots.

A first move is that of a fresh process: once with all kernels still to be compiled, once with cached kernels.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

HELP = ("-m", "arena", "--help")
PEER = ("-c", "import kaggle_environments")
BARE = ("-c", "")
ROOMS = ("arena", "arena_bots", "arena_db", "arena_plugins")
FIRST_MOVE = """
import sys, time
from arena_plugins import Limit, load_bot, load_game
game = load_game(sys.argv[2])
load_bot(sys.argv[1], game, seed=1).play(game.initial_state(), Limit())
print(time.process_time())
"""


def main() -> None:
    """Print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="number of rounds; the result is the median")
    parser.add_argument("--peer-python", help="a Python interpreter that has kaggle-environments")
    parser.add_argument("--game", default="connect-four", help="game of the first moves")
    parser.add_argument(
        "--bots", nargs="*", default=["mcts", "minimax", "solver"], help="bots of the first moves"
    )
    parser.add_argument(
        "--compilations", type=int, default=5, help="number of times each bot's kernels are compiled"
    )
    chosen = parser.parse_args()
    sides = {"help": [sys.executable, *HELP], "bare_python": [sys.executable, *BARE]}
    if chosen.peer_python:
        sides["kaggle_import"] = [chosen.peer_python, *PEER]
    for command in sides.values():
        cpu_s(command)  # the first run reads the files from disk and compiles them to bytecode
    turns = [{name: cpu_s(command) for name, command in sides.items()} for _ in range(chosen.rounds)]
    figures: dict[str, object] = {"benchmark": "start_speed", "rounds": chosen.rounds}
    figures["cpu_s"] = {name: round(statistics.median(turn[name] for turn in turns), 3) for name in sides}
    if chosen.peer_python:
        figures["ratio"] = round(statistics.median(turn["kaggle_import"] / turn["help"] for turn in turns), 2)
    figures["first_move_cpu_s"] = first_moves(chosen.bots, chosen.game, chosen.compilations)
    print(json.dumps(figures))


def cpu_s(command: list[str]) -> float:
    """Return the CPU time of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120, check=True)  # noqa: S603 - ours
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def first_moves(bots: list[str], game: str, num_rounds: int) -> dict[str, dict[str, float]]:
    """Return the CPU time of first moves, with kernels to be compiled and with cached kernels."""
    found = {bot: {"compiled": list[float](), "loaded": list[float]()} for bot in bots}
    with tempfile.TemporaryDirectory() as folder:
        # A copy of the sources has no cached kernels beside it, only the bytecode.
        for room in ROOMS:
            source = Path(getattr(find_spec(room), "origin", None) or "").parent
            shutil.copytree(source, Path(folder, room), ignore=shutil.ignore_patterns("*.nbi", "*.nbc"))
        for number in range(num_rounds):
            for bot, times in found.items():
                kernels = str(Path(folder, f"{bot}-{number}"))
                for measured in times.values():
                    measured.append(first_move_s(bot, game, folder, kernels))
    return {
        bot: {how: round(statistics.median(times), 2) for how, times in both.items()}
        for bot, both in found.items()
    }


def first_move_s(bot: str, game: str, sources: str, kernels: str) -> float:
    """Return the CPU time of a fresh process that makes one move."""
    path = os.pathsep.join([sources, *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(  # noqa: S603 - ours
        [sys.executable, "-c", FIRST_MOVE, bot, game],
        env={**os.environ, "PYTHONPATH": path, "NUMBA_CACHE_DIR": kernels},
        stdout=subprocess.PIPE,
        text=True,
        timeout=300,
        check=True,
    )
    return float(done.stdout)


if __name__ == "__main__":
    main()

"""Measures compiled search: UCT playouts and random matches per second of CPU, beside OpenSpiel.

python benchmarks/search_speed.py --peers
python benchmarks/search_speed.py --game gomoku --rounds 5
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from arena.games.kernels.bulk import random_matches
from arena_bots import mcts
from arena_plugins import Limit, load_game

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena_plugins import Game

PLAYOUTS = (1000, 10000)
LEAST = 0.05
"""Minimum CPU seconds of one measurement."""
FIRST_MOVE = """
import resource, sys, time
from arena_plugins import Limit, load_bot, load_game
game = load_game(sys.argv[1])
load_bot("mcts", game, seed=1).play(game.initial_state(), Limit())
print(time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def main() -> None:
    """Print one JSON line."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--game", default="connect-four")
    parser.add_argument("--rounds", type=int, default=9, help="number of rounds; the result is the median")
    parser.add_argument("--matches", type=int, default=100_000, help="random matches per measurement")
    parser.add_argument("--peers", action="store_true", help="also run OpenSpiel's MCTSBot, alternating")
    chosen = parser.parse_args()
    game = load_game(chosen.game)
    sides = {
        f"{rollouts}_{playouts}": searcher(game, rollouts, playouts)
        for rollouts in ("uniform", "tactical")
        for playouts in PLAYOUTS
    }
    sides["random_matches"] = bulk(game, chosen.matches)
    if chosen.peers:
        sides |= {f"openspiel_{playouts}": peer(game, playouts) for playouts in PLAYOUTS}
    turns = [{name: rate(side) for name, side in sides.items()} for _ in range(chosen.rounds)]
    figures: dict[str, object] = {"benchmark": "search_speed", "game": chosen.game}
    figures["per_cpu_s"] = {name: round(statistics.median(turn[name] for turn in turns)) for name in sides}
    if chosen.peers:
        figures["ratio"] = {
            f"{rollouts}_{playouts}": round(
                statistics.median(
                    turn[f"{rollouts}_{playouts}"] / turn[f"openspiel_{playouts}"] for turn in turns
                ),
                1,
            )
            for rollouts in ("uniform", "tactical")
            for playouts in PLAYOUTS
        }
    figures["first_move"] = first_move(chosen.game)
    print(json.dumps(figures))


def searcher(game: Game, rollouts: str, playouts: int) -> Callable[[], int]:
    """Return a function that searches the empty board with `mcts` and returns its number of playouts."""
    bot = mcts.make_bot(game, 1, {"playouts": str(playouts), "rollouts": rollouts})
    state, seeds = game.initial_state(), iter(range(10**9))

    def search() -> int:
        bot.new_match(next(seeds))
        return bot.play(state, Limit()).nodes or 0

    return search


def peer(game: Game, playouts: int) -> Callable[[], int]:
    """Return a function that makes the same search with OpenSpiel."""
    from peers.openspiel_search import OpenSpielSearch

    bot = OpenSpielSearch(game, playouts, seed=1)

    def search() -> int:
        bot.play(())
        return playouts

    return search


def bulk(game: Game, matches: int) -> Callable[[], int]:
    """Return a function that plays random matches to the end."""
    seeds = iter(range(10**9))

    def play() -> int:
        return len(random_matches(game, matches, next(seeds)).lengths)

    return play


def rate(side: Callable[[], int]) -> float:
    """Return the work that `side` does per second of CPU."""
    side()
    begin, done = time.process_time(), 0
    while time.process_time() - begin < LEAST:
        done += side()
    return done / (time.process_time() - begin)


def first_move(game: str) -> dict[str, float]:
    """Return the cost of the first move in a fresh process with cached kernels."""
    command = [sys.executable, "-c", FIRST_MOVE, game]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=300, check=True)  # noqa: S603 # our own
    cpu_s, rss_mb = map(float, done.stdout.split())
    return {"cpu_s": round(cpu_s, 2), "rss_mb": round(rss_mb)}


if __name__ == "__main__":
    main()

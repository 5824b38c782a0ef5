"""Measures compiled alpha-beta beside plain search: milliseconds per move by depth, states per second."""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from arena.games.playout import random_match
from arena_bots.search.alphabeta import AlphaBeta
from arena_bots.search.alphabeta_compiled import CompiledAlphaBeta, compiled_search
from arena_bots.search.budget import Budget
from arena_plugins import load_game

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena_plugins import Game, State

UNBOUND = Budget(math.inf, math.inf)
MIDDLE = (1, 2)
"""Fifths of the longest match after which the middle game is sampled: in Connect Four 8 and 16 plies."""


class Spent(NamedTuple):
    """Mean cost of one search per position."""

    cpu_ms: float
    nodes: float


def main() -> None:
    """Print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--game", default="connect-four")
    parser.add_argument("--depths", type=int, nargs="+", default=[5, 7])
    parser.add_argument("--positions", type=int, default=20, help="number of positions of the middle game")
    parser.add_argument("--rounds", type=int, default=5, help="number of rounds; the result is the median")
    chosen = parser.parse_args()
    game = load_game(chosen.game)
    compiled = compiled_search(game, max(chosen.depths))
    if compiled is None:
        raise SystemExit(f"{chosen.game} has no compiled search")
    plain = AlphaBeta(game)
    figures: dict[str, object] = {"benchmark": "alphabeta_speed", "game": game.name}
    places = {"empty": [game.initial_state()], "middle": middle_game(game, chosen.positions)}
    for place, states in places.items():
        for depth in chosen.depths:
            figures[f"{place}_d{depth}"] = beside(compiled, plain, states, depth, chosen.rounds)
    print(json.dumps(figures))


def middle_game(game: Game, count: int) -> list[State]:
    """Return positions of random matches that are not over, the same in every run."""
    rng = Random(20)  # noqa: S311 - play needs no secrets
    states: list[State] = []
    while len(states) < count:
        history = random_match(game, rng).history
        plies = MIDDLE[len(states) % len(MIDDLE)] * game.max_length // 5
        if len(history) > plies:
            state = game.initial_state()
            for action in history[:plies]:
                state = state.child(action)
            states.append(state)
    return states


def beside(
    compiled: CompiledAlphaBeta, plain: AlphaBeta, states: Sequence[State], depth: int, rounds: int
) -> dict[str, float]:
    """Run both searches alternately; the ratio is the median of those of each turn."""
    turns = [(spent(compiled, states, depth), spent(plain, states, depth)) for _ in range(rounds)]
    cpu_ms = statistics.median(mine.cpu_ms for mine, _ in turns)
    return {
        "ms": round(cpu_ms, 3),
        "nodes": round(turns[0][0].nodes),
        "nodes_per_s": round(1000 * turns[0][0].nodes / cpu_ms),
        "plain_ms": round(statistics.median(other.cpu_ms for _, other in turns), 1),
        "ratio": round(statistics.median(other.cpu_ms / mine.cpu_ms for mine, other in turns), 1),
    }


def spent(search: CompiledAlphaBeta | AlphaBeta, states: Sequence[State], depth: int) -> Spent:
    """Search each position once."""
    nodes = 0
    start = time.process_time()
    for state in states:
        verdict = search.deepen(state, depth, UNBOUND)
        nodes += verdict.nodes if verdict else 0
    return Spent(1000 * (time.process_time() - start) / len(states), nodes / len(states))


if __name__ == "__main__":
    main()

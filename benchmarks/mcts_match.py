"""Plays `mcts` against OpenSpiel's MCTSBot in C++, from random openings, each with the sides swapped.

    python benchmarks/mcts_match.py --matches 1000
    python benchmarks/mcts_match.py --bot mcts:playouts=1000,rollouts=uniform
    python benchmarks/mcts_match.py --equal-time

With --equal-time the bot gets as many playouts as it makes in the CPU time that the peer needs on the empty
board.
"""

from __future__ import annotations

import argparse
import json
import statistics
from math import sqrt
from random import Random
from typing import TYPE_CHECKING

from peers.openspiel_search import OpenSpielSearch
from search_speed import peer, rate, searcher

from arena_bots import mcts
from arena_plugins import Limit, load_game
from arena_plugins.spec import Spec

if TYPE_CHECKING:
    from arena_plugins import Bot, Game, State


def main() -> None:
    """Print one JSON line."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--game", default="connect-four")
    parser.add_argument("--bot", default="mcts:playouts=1000")
    parser.add_argument("--simulations", type=int, default=1000, help="of the peer")
    parser.add_argument("--equal-time", action="store_true", help="set the bot's playouts by measured speed")
    parser.add_argument("--matches", type=int, default=200)
    parser.add_argument("--plies", type=int, default=4, help="plies of the random openings")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    game = load_game(chosen.game)
    spec = f"mcts:playouts={equal_playouts(game, chosen.simulations)}" if chosen.equal_time else chosen.bot
    bot = mcts.make_bot(game, chosen.seed, Spec.parse(spec).options)
    rng = Random(chosen.seed)  # noqa: S311 # play, no secrets
    results: list[float] = []
    for number in range(chosen.matches // 2):
        opening = random_opening(game, chosen.plies, rng)
        for side in (0, 1):
            peer_bot = OpenSpielSearch(game, chosen.simulations, seed=2 * number + side)
            bot.new_match(2 * number + side)
            results.append(play(opening, bot, peer_bot, side))
    score = statistics.mean((result + 1) / 2 for result in results)
    print(
        json.dumps(
            {
                "benchmark": "mcts_match",
                "game": chosen.game,
                "bot": spec,
                "peer": f"OpenSpiel MCTSBot, {chosen.simulations} simulations",
                "matches": len(results),
                "won_drawn_lost": [results.count(result) for result in (1, 0, -1)],
                "as_first": round(statistics.mean((result + 1) / 2 for result in results[::2]), 3),
                "as_second": round(statistics.mean((result + 1) / 2 for result in results[1::2]), 3),
                "score": round(score, 3),
                "interval": wilson(score, len(results)),
            }
        )
    )


def equal_playouts(game: Game, simulations: int) -> int:
    """Return the playouts of `mcts` in the CPU time of `simulations` of the peer, measured alternately."""
    ours, theirs = searcher(game, "tactical", simulations), peer(game, simulations)
    return round(simulations * statistics.median(rate(ours) / rate(theirs) for _ in range(9)))


def random_opening(game: Game, plies: int, rng: Random) -> State:
    """Return a position that is not over after `plies` random actions."""
    while True:
        state = game.initial_state()
        while not state.is_terminal and len(state.history) < plies:
            state = state.child(rng.choice(state.legal_actions))
        if not state.is_terminal:
            return state


def wilson(score: float, matches: int) -> list[float]:
    """Return the 95 % interval of a score in [0, 1] by Wilson's formula (1927), draws counted as halves."""
    z = 1.959964
    centre = score + z * z / (2 * matches)
    half = z * sqrt(score * (1 - score) / matches + z * z / (4 * matches * matches))
    return [round((centre + sign * half) / (1 + z * z / matches), 3) for sign in (-1, 1)]


def play(state: State, bot: Bot, peer_bot: OpenSpielSearch, side: int) -> float:
    """Play to the end with `bot` as player `side`; return its result."""
    while not state.is_terminal:
        if state.current_player == side:
            state = state.child(bot.play(state, Limit()).action)
        else:
            state = state.child(peer_bot.play(state.history))
    return state.returns[side]


if __name__ == "__main__":
    main()

"""Measures the time of one move of the bot `solver` in Connect Four, ply by ply, in seconds of CPU."""

from __future__ import annotations

import argparse
import json
import sys
import time
from random import Random
from typing import TYPE_CHECKING

from arena.games.connect_four import ConnectFour
from arena_bots.solver import make_bot
from arena_plugins import Limit

if TYPE_CHECKING:
    from arena_bots.solver import SolverBot
    from arena_plugins import State

GAME = ConnectFour()
NO_LIMIT = Limit()
TARGET_S = 0.5


def main() -> None:
    """Print one JSON line for each ply."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--positions", type=int, default=2000, help="of each ply")
    parser.add_argument("--first-ply", type=int, default=7)
    parser.add_argument("--last-ply", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    bot = make_bot(GAME, 0, {})
    for ply in range(chosen.first_ply, chosen.last_ply + 1):
        # A seed per ply, so that a ply's positions do not depend on the other plies.
        rng = Random(f"{chosen.seed} {ply}")  # noqa: S311 # play needs no secrets
        found = sorted(measure(bot, rng, ply) for _ in range(chosen.positions))
        seconds = [spent for spent, _ in found]
        slow = [history for spent, history in found if spent > TARGET_S]
        print(
            json.dumps(
                {
                    "ply": ply,
                    "positions": len(found),
                    "mean_s": round(sum(seconds) / len(seconds), 4),
                    "median_s": round(seconds[len(seconds) // 2], 4),
                    "p99_s": round(seconds[int(0.99 * len(seconds))], 3),
                    "most_s": round(seconds[-1], 3),
                    "over_half_a_second": len(slow),
                    "slowest": list(found[-1][1]),
                }
            ),
            flush=True,
        )


def measure(bot: SolverBot, rng: Random, ply: int) -> tuple[float, tuple[int, ...]]:
    """Measure the move in a position after so many random actions, with empty tables; add the actions."""
    state: State = GAME.initial_state()
    while state.is_terminal or len(state.history) < ply:
        state = GAME.initial_state() if state.is_terminal else state.child(rng.choice(state.legal_actions))
    bot.new_match(0)
    begin = time.process_time()
    bot.play(state, NO_LIMIT)
    return time.process_time() - begin, state.history


if __name__ == "__main__":
    sys.exit(main())

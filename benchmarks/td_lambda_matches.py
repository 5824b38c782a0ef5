"""Plays `td-lambda` against the minimax of three plies that its source meant to beat, from the empty board.

    python benchmarks/td_lambda_matches.py td-lambda:recipe=linear,rules=off --matches 1000

That opponent plays a winning move, otherwise a move that forces a win on its next move, otherwise a random
move that does not lose at once. Prints one JSON line per bot: wins, draws and losses by colour, with 95 %
intervals of the wins (Wilson, 1927).
"""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from dev_set import GAME
from move_quality import wilson

from arena.games.kernels.chance import seeded
from arena.games.kernels.layout import layout_of, words_of
from arena_bots.td_lambda.train.linear_kernels import choose_shallow
from arena_plugins import Limit, load_bot

if TYPE_CHECKING:
    from arena_plugins import Bot

_BOTS = [f"td-lambda:recipe=linear,rules={rules}" for rules in ("off", "on")]
_SIDES = ("first", "second")


def main() -> None:
    """Print one JSON line per bot."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bots", nargs="*", default=_BOTS)
    parser.add_argument("--matches", type=int, default=20, help="on each side")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    for spec in chosen.bots:
        bot = load_bot(spec, GAME, seed=chosen.seed)
        sides = {name: meet(bot, side, chosen.matches, chosen.seed) for side, name in enumerate(_SIDES)}
        print(json.dumps({"benchmark": "td_lambda_matches", "bot": spec, **sides}), flush=True)


def meet(bot: Bot, side: int, matches: int, seed: int) -> dict[str, float]:
    """Play matches in which the bot is player `side`; return its results."""
    results = [0, 0, 0]
    ends: set[tuple[int, ...]] = set()
    for number in range(matches):
        actions, outcome = one_match(bot, side, (seed << 32) + (number << 1) + side)
        results[1 - outcome] += 1
        ends.add(actions)
    low, high = wilson(results[0], matches)
    return {
        "wins": results[0],
        "draws": results[1],
        "losses": results[2],
        "win_percent": round(100 * results[0] / matches, 1),
        "win_low": round(100 * low, 1),
        "win_high": round(100 * high, 1),
        "distinct": len(ends),
    }


def one_match(bot: Bot, side: int, seed: int) -> tuple[tuple[int, ...], int]:
    """Play one match; return its actions, and 1, 0 or -1 as the bot won, drew or lost."""
    layout, chance = layout_of(GAME), seeded(seed)
    if layout is None:
        raise SystemExit(f"there are no kernels for {GAME.name}")
    renew = getattr(bot, "new_match", None)
    if callable(renew):
        renew(seed)
    state = GAME.initial_state()
    while not state.is_terminal:
        if state.current_player == side:
            action = bot.play(state, Limit()).action
        else:
            action = int(choose_shallow(*words_of(state), layout, chance))
        state = state.child(action)
    return state.history, round(state.returns[side])


if __name__ == "__main__":
    main()

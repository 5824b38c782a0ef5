"""Plays random matches here and in OpenSpiel side by side: legal actions, player, end and result must agree.

python benchmarks/openspiel_equality.py --game gomoku:k=4,size=6 --matches 20000
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from arena.games import connect_four, gomoku, tic_tac_toe
from arena_plugins.spec import Spec

if TYPE_CHECKING:
    from arena_plugins.contract import Game

MODULES = {"connect-four": connect_four, "gomoku": gomoku, "tic-tac-toe": tic_tac_toe}


class Comparison(NamedTuple):
    """The number of compared matches and positions, and the first difference."""

    game: str
    opponent: str
    matches: int
    plies: int
    results: dict[str, int]
    mismatches: list[str]


def opponent_name(game: Game) -> str:
    """Return the game's name in OpenSpiel.

    Raises:
        ValueError: OpenSpiel lacks the game.
    """
    params = game.params
    if game.name == "connect-four":
        return f"connect_four(rows={params['rows']},columns={params['cols']},x_in_row={params['k']})"
    if game.name == "tic-tac-toe":
        return "tic_tac_toe"
    if params["exact"] == "on":
        raise ValueError("OpenSpiel's gomoku lets overlines win; compare exact=off")
    return f"gomoku(size={params['size']},connect={params['k']})"


def compare(spec: str, matches: int, seed: int) -> Comparison:
    """Play `matches` random matches of `spec`, drawn from `seed`, on both sides."""
    read = Spec.parse(spec, versioned=False)
    game = MODULES[read.name].make_game(read.options)
    opponent = opponent_name(game)
    # OpenSpiel is optional and has no type stubs.
    theirs: Any = importlib.import_module("pyspiel").load_game(opponent)
    rng = Random(seed)  # noqa: S311 # play, no secrets
    plies = 0
    mismatches: list[str] = []
    results = {"first": 0, "second": 0, "draw": 0}
    for _ in range(matches):
        state, their_state = game.initial_state(), theirs.new_initial_state()
        while not (difference := mismatch(state, their_state)) and not state.is_terminal:
            action = rng.choice(state.legal_actions)
            state = state.child(action)
            their_state.apply_action(action)
        plies += len(state.history)
        results[{1.0: "first", -1.0: "second", 0.0: "draw"}[state.returns[0]]] += 1
        if difference:
            mismatches.append(f"{difference} after {list(state.history)}")
    return Comparison(spec, opponent, matches, plies, results, mismatches)


def mismatch(state: Any, theirs: Any) -> str:  # noqa: ANN401 # both sides by duck typing
    """Return a description of the difference between two states, or an empty text."""
    if state.is_terminal != theirs.is_terminal():
        return "is_terminal"
    if list(state.returns) != theirs.returns():
        return "returns"
    if list(state.history) != theirs.history():
        return "history"
    if list(state.legal_actions) != theirs.legal_actions():
        return "legal_actions"
    if not state.is_terminal and state.current_player != theirs.current_player():
        return "current_player"
    return ""


def main(arguments: list[str]) -> int:
    """Compare one game, print one JSON line, and return 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--game", default="connect-four")
    parser.add_argument("--matches", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    start = time.process_time()
    comparison = compare(options.game, options.matches, options.seed)
    seconds = round(time.process_time() - start, 1)
    print(json.dumps({**comparison._asdict(), "seed": options.seed, "cpu_seconds": seconds}))
    return 1 if comparison.mismatches else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

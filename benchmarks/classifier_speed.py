"""Measures a move of the classifier `keras`, beside a move by `model.predict` of the same network.

    python benchmarks/classifier_speed.py

Both choose in the same positions of Connect Four with the article's network: ours evaluates all positions
after its actions in one batch, the article one after the other. Prints one JSON line, milliseconds of CPU per
move.
"""

# Keras has no type stubs.
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

import argparse
import json
import statistics
import time
from typing import TYPE_CHECKING, Any

import keras
import numpy as np

from arena_plugins import Limit, load_bot, load_game

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena_plugins import State

CELLS = 42
LIMIT = Limit()
_LEAST = 0.3
"""Minimum CPU seconds of one measurement."""


def main() -> None:
    """Print one JSON line."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5, help="number of rounds; the result is the median")
    chosen = parser.parse_args()
    game = load_game("connect-four")
    bot = load_bot("keras:recipe=article", game, seed=1)
    state = game.initial_state().child(3).child(3).child(2)
    boards = [np.array([one_board(state.child(action))]) for action in state.legal_actions]
    layers: Any = keras.layers
    model: Any = keras.Sequential(
        [
            layers.Input((CELLS,)),
            *(layers.Dense(CELLS, activation="relu") for _ in range(2)),
            layers.Dense(3, activation="softmax"),
        ]
    )

    def predict() -> None:
        for board in boards:
            model.predict(board, verbose=0)

    sides: dict[str, Callable[[], object]] = {"ours": lambda: bot.play(state, LIMIT), "predict": predict}
    turns = [{name: cost(side) for name, side in sides.items()} for _ in range(chosen.rounds)]
    figures: dict[str, object] = {
        "benchmark": "classifier_speed",
        "move_ms": {name: round(statistics.median(turn[name] for turn in turns), 4) for name in sides},
        "ratio": round(statistics.median(turn["predict"] / turn["ours"] for turn in turns), 1),
    }
    print(json.dumps(figures))


def one_board(state: State) -> list[float]:
    """Return a board in the article's encoding: one number per cell."""
    return [float((0, 1, -1)[cell]) for cell in state.cells]


def cost(side: Callable[[], object]) -> float:
    """Return the milliseconds of CPU of one call of `side`."""
    side()
    begin, done = time.process_time(), 0
    while time.process_time() - begin < _LEAST:
        side()
        done += 1
    return 1000 * (time.process_time() - begin) / done


if __name__ == "__main__":
    main()

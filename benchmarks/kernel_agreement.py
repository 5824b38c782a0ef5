"""Replays bulk random matches with the plain states, and compares the winning moves of each position.

python benchmarks/kernel_agreement.py --positions 1000000
"""

from __future__ import annotations

import argparse
import json
import time
from typing import TYPE_CHECKING

import numpy as np

from arena.games.kernels.bits import bit_number
from arena.games.kernels.bulk import random_matches
from arena.games.kernels.cell_tactics import find_threats, urgent
from arena.games.kernels.cells import MOVER, cell_layout_of, new_board, set_board
from arena.games.kernels.layout import layout_of, words_of
from arena.games.kernels.rules import completing, landings
from arena_plugins import load_game

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena_plugins import Game, State

SPECS = (
    "connect-four",
    "tic-tac-toe",
    "gomoku:k=4,size=6",
    "gomoku:k=5,size=7",
    "gomoku:exact=on,k=4,size=6",
    "gomoku:exact=on,k=5,size=7",
    "gomoku",
    "gomoku:exact=on",
)
EVERY = {True: 4, False: 50}
"""Wins are compared at one position in so many: on small boards, on large ones."""
BATCH = 1000
_BIT = np.uint64(1)


def main() -> int:
    """Print one JSON line; return 1 if anything differs."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--positions", type=int, default=2000, help="of each game")
    parser.add_argument("--games", nargs="+", default=SPECS)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    begin = time.process_time()
    compared: dict[str, list[int]] = {}
    different: list[str] = []
    for spec in chosen.games:
        game = load_game(spec)
        wins_at = word_wins(game) or cell_wins(game)
        numbers, seed = [0, 0], chosen.seed
        while numbers[0] < chosen.positions:
            different += replay(game, seed, wins_at, numbers, chosen.positions)
            seed += 1
        compared[spec] = numbers
    print(
        json.dumps(
            {
                "benchmark": "kernel_agreement",
                "positions_and_compared_wins": compared,
                "different": different[:10],
                "cpu_s": round(time.process_time() - begin, 1),
            }
        )
    )
    return 1 if different else 0


def replay(
    game: Game, seed: int, wins_at: Callable[[State], int], numbers: list[int], most: int
) -> list[str]:
    """Replay a batch, state by state, up to `most` positions; return the differences."""
    different: list[str] = []
    every = EVERY[game.num_actions < 64]  # noqa: PLR2004 # a word
    matches = random_matches(game, BATCH, seed)
    for actions, length, outcome in zip(*matches, strict=True):
        state = game.initial_state()
        for action in actions[:length].tolist():
            if not numbers[0] % every:
                numbers[1] += 1
                player = state.current_player
                plain = sum(state.child(other).returns[player] > 0 for other in state.legal_actions)
                if min(plain, 2) != wins_at(state):
                    different.append(f"{game.name} {dict(game.params)}: wins after {state.history}")
            state = state.child(action)
            numbers[0] += 1
        if not state.is_terminal or state.returns[0] != outcome:
            different.append(f"{game.name} {dict(game.params)}: end after {state.history}")
        if numbers[0] >= most:
            break
    return different


def word_wins(game: Game) -> Callable[[State], int] | None:
    """Return a function on words that counts immediate wins, up to 2; None if the game does not fit words."""
    layout = layout_of(game)
    if layout is None:
        return None

    def count(state: State) -> int:
        own, opp = words_of(state)
        cells = completing(own, layout) & landings(own | opp, layout)
        rest = cells & (cells - _BIT) if cells else cells
        return 0 if bit_number(cells) > 63 else 1 if bit_number(rest) > 63 else 2  # noqa: PLR2004 # bits of a word

    return count


def cell_wins(game: Game) -> Callable[[State], int]:
    """Return a function on cells that counts immediate wins, up to 2.

    Raises:
        ValueError: kernels cannot play `game`.
    """
    layout = cell_layout_of(game)
    if layout is None:
        raise ValueError(f"there are no kernels for {game.name}")
    board, threats = new_board(layout), np.zeros((3, 1 + game.max_length), np.uint16)

    def count(state: State) -> int:
        set_board(board, state, layout)
        find_threats(board, threats, layout)
        return int(urgent(board, MOVER, threats, layout)[0])

    return count


if __name__ == "__main__":
    raise SystemExit(main())

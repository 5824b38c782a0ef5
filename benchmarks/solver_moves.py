"""Measures the time of one move of the bot `solver` in Connect Four, ply by ply, in seconds of CPU.

The positions come from random actions, from random actions that overlook no win or loss at once, from
matches of the bot from drawn openings against other bots and itself, and from a file. In a match, the tables
are as the bot's earlier moves have left them; everywhere else they are empty.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from arena.games.connect_four import ConnectFour
from arena.games.solver.connect_four_solver import SMALL_BITS, ConnectFourSolver
from arena.pairing.openings import drawn_path
from arena_bots import mcts, minimax, random
from arena_bots import solver as solver_bot
from arena_plugins import Limit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from arena_bots.mcts import MctsBot
    from arena_bots.minimax import MinimaxBot
    from arena_bots.random import RandomBot
    from arena_bots.solver import SolverBot
    from arena_plugins import PlayResult, State

GAME = ConnectFour()
NO_LIMIT = Limit()
TARGET_S = 0.5
OPENING_PLIES = 4
LAST_SENSIBLE = 20
"""Last ply for positions after sensible actions; after more plies, too many of these matches are over."""


class Move(NamedTuple):
    """One measured move."""

    ply: int
    seconds: float
    history: list[int]
    """The actions before it, columns from 0."""
    action: int
    value: float | None
    """Outcome for the bot, if known."""
    distance: int | None
    """Plies to the end, if known."""
    nodes: int | None


def main() -> None:
    """Print one JSON line for each ply, then one for all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--positions", type=int, default=100, help="of each ply and way to draw them")
    parser.add_argument("--matches", type=int, default=20, help="against each of four bots")
    parser.add_argument("--first-ply", type=int, default=0)
    parser.add_argument("--last-ply", type=int, default=41)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--more", type=Path, help="a file of positions: a line has the columns from 0")
    parser.add_argument("--write", type=Path, help="a file for the moves, one JSON line each")
    chosen = parser.parse_args()
    bot = solver_bot.make_bot(GAME, 0, {})
    bot.play(GAME.initial_state(), NO_LIMIT)
    plies = range(chosen.first_ply, chosen.last_ply + 1)
    moves: list[Move] = []
    for move in _all_moves(bot, plies, chosen):
        moves.append(move)
        if chosen.write:
            with chosen.write.open("a", encoding="ascii") as file:
                file.write(json.dumps(move._asdict()) + "\n")
    for ply in sorted({move.ply for move in moves}):
        report({"ply": ply}, [move for move in moves if move.ply == ply])
    report({"ply": "all"}, moves)


def _all_moves(bot: SolverBot, plies: range, chosen: argparse.Namespace) -> Iterator[Move]:
    if chosen.more:
        for line in chosen.more.read_text("ascii").split():
            yield alone(bot, _state_after(map(int, line)))
    for index in range(chosen.matches):
        for number in range(len(OPPONENTS)):
            yield from match(bot, number, chosen.seed + index)
    for ply in plies:
        for choose in (any_action, sensible_action) if ply <= LAST_SENSIBLE else (any_action,):
            # A seed per ply, so that a ply's positions do not depend on the other plies.
            rng = Random(f"{chosen.seed} {ply}")  # noqa: S311 # play needs no secrets
            for _ in range(chosen.positions):
                yield alone(bot, drawn(rng, ply, choose))


def report(what: dict[str, object], moves: list[Move]) -> None:
    """Print the figures of some moves."""
    seconds = sorted(move.seconds for move in moves)
    slowest = max(moves, key=lambda move: move.seconds)
    figures = {
        "moves": len(moves),
        "mean_s": round(sum(seconds) / len(seconds), 4),
        "median_s": round(seconds[len(seconds) // 2], 4),
        "p99_s": round(seconds[int(0.99 * len(seconds))], 3),
        "most_s": round(seconds[-1], 3),
        "over_half_a_second": sum(spent > TARGET_S for spent in seconds),
        "slowest": "".join(map(str, slowest.history)),
    }
    sys.stdout.write(json.dumps(what | figures) + "\n")
    sys.stdout.flush()


def alone(bot: SolverBot, state: State) -> Move:
    """Measure the move in a position, with empty tables."""
    bot.new_match(0)
    return measured(bot, state)[0]


def measured(bot: SolverBot, state: State) -> tuple[Move, PlayResult]:
    """Measure the move in a position."""
    begin = time.process_time()
    found = bot.play(state, NO_LIMIT)
    spent = time.process_time() - begin
    history = list(state.history)
    move = Move(len(history), round(spent, 5), history, found.action, found.value, found.depth, found.nodes)
    return move, found


def drawn(rng: Random, ply: int, choose: Callable[[Random, State], int]) -> State:
    """Return a position after so many actions that is not over."""
    state: State = GAME.initial_state()
    while len(state.history) < ply or state.is_terminal:
        state = GAME.initial_state() if state.is_terminal else state.child(choose(rng, state))
    return state


def any_action(rng: Random, state: State) -> int:
    """Return a random action."""
    return rng.choice(state.legal_actions)


def sensible_action(rng: Random, state: State) -> int:
    """Return the action that prevents a loss at once, else a random one that does not allow a win at once."""
    forced = RULES.only_answer(state)
    if forced is not None:
        return forced
    safe = [
        action
        for action in state.legal_actions
        if not state.child(action).is_terminal and not _can_win(state.child(action))
    ]
    return rng.choice(safe or state.legal_actions)


def _can_win(state: State) -> bool:
    children = map(state.child, state.legal_actions)
    return any(child.is_terminal and child.returns[state.current_player] > 0 for child in children)


def match(bot: SolverBot, number: int, seed: int) -> Iterator[Move]:
    """Play two matches from a drawn opening against one of `OPPONENTS`; yield the moves of the bot."""
    for side in (0, 1):
        opponent = OPPONENTS[number]()
        opponent.new_match(seed)
        bot.new_match(seed)
        state = _state_after(OPENINGS[seed * 7 % len(OPENINGS)])
        while not state.is_terminal:
            if state.current_player == side:
                move, found = measured(bot, state)
                yield move
            else:
                found = opponent.play(state, NO_LIMIT)
            state = state.child(found.action)


def _state_after(actions: Iterable[int]) -> State:
    state: State = GAME.initial_state()
    for action in actions:
        state = state.child(action)
    return state


OPPONENTS: list[Callable[[], MinimaxBot | MctsBot | RandomBot | SolverBot]] = [
    lambda: minimax.make_bot(GAME, 1, {"depth": "5"}),
    lambda: mcts.make_bot(GAME, 1, {"playouts": "400"}),
    lambda: random.make_bot(GAME, 1, {}),
    lambda: solver_bot.make_bot(GAME, 1, {}),
]
OPENINGS = [
    [int(digit) - 1 for digit in line]
    for line in drawn_path(OPENING_PLIES).read_text("ascii").split("\n")
    if line and not line.startswith("#")
]
RULES = ConnectFourSolver(GAME, None, top_bits=SMALL_BITS)


if __name__ == "__main__":
    main()

"""Checks the exact solver: against brute force near the end, and against BitBully if a Python has it."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from arena.games.connect_four import ConnectFour
from arena.games.solver.book import shipped_book
from arena.games.solver.connect_four_solver import ConnectFourSolver
from arena.games.solver.find import solver_for

if TYPE_CHECKING:
    from arena.games.solver.solved import Worth
    from arena_plugins import State

GAME = ConnectFour()
SCRIPT = Path(__file__).parent / "peers" / "bitbully_scores.py"
MAX_EMPTY = 10


def main() -> int:
    """Print one JSON line; return 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--matches", type=int, default=1000, help="number of random matches, for brute force")
    parser.add_argument(
        "--positions", type=int, default=2000, help="number of positions of all phases, for the oracle"
    )
    parser.add_argument(
        "--first-ply", type=int, default=0, help="minimum number of stones of these positions"
    )
    parser.add_argument(
        "--last-ply", type=int, default=40, help="maximum number of stones; with 7 the book alone answers"
    )
    parser.add_argument("--oracle-python", help="a Python interpreter that has BitBully")
    chosen = parser.parse_args()
    late, wrong_late = brute_force(chosen.matches)
    result: dict[str, object] = {"benchmark": "solver_agreement", "brute_force": late, "differ": wrong_late}
    wrong = wrong_late
    if chosen.oracle_python:
        states = sample(chosen.positions, range(chosen.first_ply, chosen.last_ply + 1))
        differing = oracle(chosen.oracle_python, states)
        result |= {"oracle": len(states), "oracle_differ": differing}
        wrong += differing
    empty = solver_for(GAME)
    if empty is not None:
        solved = empty.solve(GAME.initial_state())
        result["empty_board"] = {
            GAME.move(GAME.initial_state(), a): list(w) for a, w in solved.actions.items()
        }
    print(json.dumps(result))
    return int(wrong > 0)


def brute_force(num_matches: int) -> tuple[int, int]:
    """Count the positions with few empty cells in random matches, and those on which the two disagree."""
    solver, rng = ConnectFourSolver(GAME, None), Random(1)  # noqa: S311 # play needs no secrets
    known: dict[object, tuple[int, int]] = {}
    number = wrong = 0
    for _ in range(num_matches):
        state: State = GAME.initial_state()
        while not state.is_terminal:
            if state.cells.count(0) <= MAX_EMPTY:
                number += 1
                found = {action: tuple(worth) for action, worth in solver.solve(state).actions.items()}
                wrong += found != {action: _after(state, action, known) for action in state.legal_actions}
            state = state.child(rng.choice(state.legal_actions))
    return number, wrong


def _after(state: State, action: int, known: dict[object, tuple[int, int]]) -> tuple[int, int]:
    """Return outcome and distance of an action by exhaustive search."""
    child = state.child(action)
    if child.is_terminal:
        return round(child.returns[state.current_player]), 1
    key = (child.cells, child.current_player)
    if key not in known:
        worths = [_after(child, reply, known) for reply in child.legal_actions]
        known[key] = max(worths, key=lambda worth: (worth[0], -worth[0] * worth[1]))
    outcome, distance = known[key]
    return -outcome, distance + 1


def sample(number: int, plies: range) -> list[State]:
    """Draw positions of these plies, equally many of each."""
    rng = Random(2)  # noqa: S311 # play needs no secrets
    states: list[State] = []
    while len(states) < number:
        state: State = GAME.initial_state()
        for _ in range(plies[len(states) % len(plies)]):
            if not state.is_terminal:
                state = state.child(rng.choice(state.legal_actions))
        if not state.is_terminal:
            states.append(state)
    return states


def oracle(python: str, states: list[State]) -> int:
    """Count the positions that the oracle scores differently."""
    asked = json.dumps(
        {"mode": "moves", "book": True, "positions": [list(state.history) for state in states]}
    )
    done = subprocess.run([python, str(SCRIPT)], input=asked, capture_output=True, text=True, check=True)  # noqa: S603 - ours
    scores: list[list[int]] = json.loads(done.stdout)["scores"]
    # With its book; without it each of the first plies would take a minute.
    solver = ConnectFourSolver(GAME, shipped_book())
    wrong = 0
    for state, expected in zip(states, scores, strict=True):
        found = solver.solve(state).actions
        ply = len(state.history)
        wrong += any(_score(worth, ply) != expected[action] for action, worth in found.items())
    return wrong


def _score(worth: Worth, ply: int) -> int:
    """Convert a value to the winner's remaining stones, including the last one."""
    outcome, distance = worth
    if outcome is None or distance is None:
        raise ValueError("a position was not solved")
    return outcome * (44 - ply - distance) // 2 if outcome >= 0 else -((44 - ply - distance) // 2)


if __name__ == "__main__":
    sys.exit(main())

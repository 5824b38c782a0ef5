"""Plays a bot against a perfect player of Connect Four, which chooses at random among its best actions.

    python benchmarks/perfect_match.py td-lambda --matches 400 --oracle-python /path/to/a/python/with/bitbully

The perfect player wins as fast as it can and loses as late as it can. It is BitBully with its twelve-ply book
if a Python has it, otherwise the project's own solver, which takes seconds for a position with few stones.
All matches advance together, one ply at a time. Prints one JSON line per bot and side: results, and the 95 %
interval of the wins (Wilson, 1927).
"""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from dev_set import GAME
from move_quality import wilson

from arena.games.solver.find import solver_for
from arena_plugins import Limit, load_bot

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from arena.games.k_in_a_row import KInARowState

    Oracle = Callable[[Sequence[KInARowState]], list[Sequence[int]]]
    """Returns the best actions of each position."""

SCRIPT = Path(__file__).parent / "peers" / "bitbully_best.py"
_SIDES = ("first", "second")
_FEW = 1
_CLOSE = 12
"""Default number of random first plies without an oracle: from there on our solver is fast."""


def main() -> None:
    """Print one JSON line per bot and side."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bots", nargs="*", default=["minimax:depth=1"])
    parser.add_argument("--matches", type=int, default=_FEW, help="on each side")
    parser.add_argument("--side", choices=_SIDES, help="side of the bot; both by default")
    parser.add_argument("--plies", type=int, help="random actions each match begins with")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--oracle-python", help="a Python interpreter that has BitBully")
    chosen = parser.parse_args()
    plies = chosen.plies if chosen.plies is not None else 0 if chosen.oracle_python else _CLOSE
    oracle = bitbully(chosen.oracle_python) if chosen.oracle_python else own_solver()
    for spec in chosen.bots:
        for name in [chosen.side] if chosen.side else _SIDES:
            ends = meet(spec, _SIDES.index(name), oracle, chosen.matches, plies, chosen.seed)
            print(json.dumps({"benchmark": "perfect_match", "bot": spec, "side": name, **ends}), flush=True)


def meet(spec: str, side: int, oracle: Oracle, matches: int, plies: int, seed: int) -> dict[str, object]:  # noqa: PLR0913, PLR0917 - one match-up
    """Play matches in which the bot is player `side`; return its results."""
    rng = Random(seed)  # noqa: S311 - play needs no secrets
    bots = [load_bot(spec, GAME, seed=seed * matches + number) for number in range(matches)]
    states = [_opening(rng, plies) for _ in bots]
    while any(not state.is_terminal for state in states):
        mine = [n for n, state in enumerate(states) if not state.is_terminal and state.current_player == side]
        theirs = [n for n, state in enumerate(states) if not state.is_terminal and n not in mine]
        for number in mine:
            states[number] = states[number].child(bots[number].play(states[number], Limit()).action)
        for number, actions in zip(theirs, oracle([states[n] for n in theirs]), strict=True):
            states[number] = states[number].child(rng.choice(actions))
    outcomes = [round(state.returns[side]) for state in states]
    low, high = wilson(outcomes.count(1), matches)
    return {
        "wins": outcomes.count(1),
        "draws": outcomes.count(0),
        "losses": outcomes.count(-1),
        "win_low": round(100 * low, 1),
        "win_high": round(100 * high, 1),
        "distinct": len({state.history for state in states}),
        "random_plies": plies,
    }


def _opening(rng: Random, plies: int) -> KInARowState:
    """Return a state after so many random actions that is not over."""
    state = GAME.initial_state()
    while len(state.history) < plies:
        state = state.child(rng.choice(state.legal_actions))
        if state.is_terminal:
            state = GAME.initial_state()
    return state


def own_solver() -> Oracle:
    """Return the best actions by the project's own solver."""
    solver = solver_for(GAME)
    if solver is None:
        raise SystemExit(f"there is no solver of {GAME.name}")

    def ask(states: Sequence[KInARowState]) -> list[Sequence[int]]:
        return [solver.solve(state, distances="best").best for state in states]

    return ask


def bitbully(python: str) -> Oracle:
    """Yield a function that returns the best actions by BitBully, in a process that ends with this one."""
    known: dict[tuple[int, ...], list[int]] = {}
    pipes = subprocess.PIPE
    peer = subprocess.Popen([python, str(SCRIPT)], stdin=pipes, stdout=pipes, text=True)  # noqa: S603 - our own command
    asked, told = peer.stdin, peer.stdout
    if asked is None or told is None:
        raise SystemExit(f"{python} cannot be spoken with")

    def ask(states: Sequence[KInARowState]) -> list[Sequence[int]]:
        new = sorted({state.history for state in states} - known.keys())
        if new:
            asked.write(json.dumps(new) + "\n")
            asked.flush()
            line = told.readline()
            if not line:
                raise SystemExit(f"{python} could not judge positions; it needs bitbully, and its databases")
            known.update(zip(new, json.loads(line), strict=True))
        return [known[state.history] for state in states]

    return ask


if __name__ == "__main__":
    main()

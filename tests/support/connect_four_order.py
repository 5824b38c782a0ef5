"""Fits the learned move order of Connect Four: `make move-order`.

It solves random positions, draws refuted positions from the tables of these searches, measures how many nodes
each move takes there, and fits the weights so that cheap refutations come before expensive moves. Everything
starts from an order without weights for lines, so a run does not depend on the shipped weights.
"""

# SciPy ships no type information.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import sys
import time
import zlib
from datetime import UTC, datetime
from importlib.metadata import version
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from arena.games.connect_four import ConnectFour
from arena.games.solver._counters import BUDGET, NODES
from arena.games.solver._four import narrow, safe_moves, worst
from arena.games.solver._memory import TABLES, forget, new_memory
from arena.games.solver._ordering import (
    NUM_CODES,
    NUM_FEATURES,
    NUM_LINES,
    NUM_WEIGHTS,
    SHIPPED,
    STARTS,
    STEPS,
)
from arena.games.solver._stones import BOTTOM, NUM_ACTIONS, features, landings, threats
from arena.games.solver.book import shipped_book
from arena.games.solver.connect_four_solver import ConnectFourSolver

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

GAME = ConnectFour()
PLAIN = (16, 16, 12, 8, -8, 0)
"""Weights of the features before fitting: twice those of `promise`."""
SCALE = 16
"""Weights in the file per natural logarithm of the odds that one move is the better one to try first."""
CAP = 12
"""A move that takes so many times the nodes of the cheapest refutation is not searched to the end."""
FIRST_LIMIT = 400_000
PLIES = range(9, 18)
"""Plies whose positions are drawn."""
FEATURE_UNIT = 4
"""Features are divided by this, so that the penalty weighs on them about as on lines."""
TOP_BITS = 14
"""Small tables: they are cleared before each move."""
REGULAR = 6.0
"""Strength of the L2 penalty on the weights of lines and features."""


class Refuted(NamedTuple):
    """A position in which some move exceeds a bound, with the nodes that finding out takes for each move."""

    own: int
    mask: int
    costs: dict[int, tuple[int, bool]]
    """Nodes, and whether the move refutes, by action."""


def plain_order() -> NDArray[np.int64]:
    """Return the weights of the plain order: the `merit` of a move is then twice its `promise`."""
    order = np.zeros((2, NUM_WEIGHTS), np.int64)
    order[:, :NUM_FEATURES] = PLAIN
    return order.reshape(-1)


def positions_of(memory: NDArray[np.int64]) -> Iterator[tuple[int, int, int]]:
    """Yield own stones, all stones and lower bound of each entry of the tables that a search has refuted."""
    entries = memory[TABLES:]
    for entry in entries[entries > 0].tolist():
        own = mask = 0
        key = (entry >> 12 & (1 << 49) - 1) + BOTTOM
        for column in range(NUM_ACTIONS):
            lane = key >> 7 * column & 127
            top = 1 << lane.bit_length() - 1
            mask |= top - 1 << 7 * column
            own |= lane - top << 7 * column
        low = (entry >> 6 & 63) - 32
        if low > worst(mask.bit_count() + 2):
            yield own, mask, low


def drawn(seed: int, num_roots: int, per_ply: int) -> list[tuple[int, int, int]]:
    """Return refuted positions from searches of random positions at plies 8 to 11: `per_ply` of each ply."""
    rng = Random(seed)  # noqa: S311 # no secrets
    solver = ConnectFourSolver(GAME, shipped_book(), answers=None, order=plain_order())
    solver.usual_nodes = 0
    memory = solver._memory  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] # no user reads the tables
    found: dict[int, set[tuple[int, int, int]]] = {ply: set() for ply in PLIES}
    for root in range(num_roots):
        state = GAME.initial_state()
        while state.is_terminal or len(state.history) < 8 + root % 4:
            state = (
                GAME.initial_state() if state.is_terminal else state.child(rng.choice(state.legal_actions))
            )
        solver.clear()
        solver.solve(state, distances="best")
        by_ply: dict[int, list[tuple[int, int, int]]] = {}
        for position in positions_of(memory):
            by_ply.setdefault(position[1].bit_count(), []).append(position)
        for ply in PLIES:
            fresh = by_ply.get(ply, [])
            # Long searches have many positions; each contributes at most a few of a ply.
            found[ply].update(rng.sample(fresh, min(len(fresh), 4 * per_ply // num_roots + 1)))
    chosen = [rng.sample(sorted(found[ply]), min(per_ply, len(found[ply]))) for ply in PLIES]
    return [position for each in chosen for position in each]


def measured(memory: NDArray[np.int64], own: int, mask: int, low: int) -> Refuted:
    """Search each safe move, with empty tables, and count the nodes."""
    opp = own ^ mask
    moves = safe_moves(mask, threats(opp, mask))
    costs: dict[int, tuple[int, bool]] = {}
    limit = FIRST_LIMIT
    for action in sorted(range(NUM_ACTIONS), key=lambda action: abs(action - 3)):
        stone = moves & 63 << 7 * action
        if not stone:
            continue
        forget(memory)
        begin = int(memory[NODES])
        memory[BUDGET] = begin + limit
        window = np.array([-low, 1 - low], np.int64)
        known = narrow(memory, window, opp, mask | stone, True)  # noqa: FBT003 # kernels take no keywords
        nodes, refutes = int(memory[NODES]) - begin + 1, bool(known and window[1] <= -low)
        costs[action] = nodes, refutes
        if refutes:
            limit = min(limit, CAP * nodes + 2_000)
    return Refuted(own, mask, costs)


class Moves(NamedTuple):
    """All measured moves, as arrays over moves."""

    inputs: csr_matrix
    """What the weights are multiplied by; `[moves, number of free weights]`."""
    position: NDArray[np.int64]
    nodes: NDArray[np.float64]
    refutes: NDArray[np.bool_]


def all_lines() -> NDArray[np.int64]:
    """Return the cells of all lines of four, in the order of `merit`; `[69, 4]`."""
    starts = [(start, step) for cells, step in zip(STARTS, STEPS, strict=True) for start in bits_of(cells)]
    return np.array([[start + number * step for number in range(4)] for start, step in starts])


def bits_of(cells: int) -> list[int]:
    """Return the numbers of the set bits, ascending."""
    return [bit for bit in range(cells.bit_length()) if cells >> bit & 1]


def tied_weights() -> tuple[NDArray[np.int64], int]:
    """Return the number of each line's and content's free weight, `[69, 81]`, and how many there are.

    Mirror images share a weight.
    """
    lines = all_lines().tolist()
    known = {tuple(sorted(line)): number for number, line in enumerate(lines)}
    free = np.full((NUM_LINES, NUM_CODES), -1, np.int64)
    number = 0
    for line, cells in enumerate(lines):
        image = [(6 - cell // 7) * 7 + cell % 7 for cell in cells]
        other = known[tuple(sorted(image))]
        places = [image.index(cell) for cell in lines[other]]
        for code in range(NUM_CODES):
            if free[line, code] < 0:
                digits = [code // 3**place % 3 for place in range(4)]
                same = sum(digits[place] * 3**number for number, place in enumerate(places))
                free[line, code] = free[other, same] = number
                number += 1
    return free, number


def moves_of(positions: Sequence[Refuted]) -> Moves:
    """Return the moves as arrays; the free weights are those of lines, then of features, each by side."""
    free, number = tied_weights()
    rows = [
        (place, own, mask, landings(mask) & 63 << 7 * action, *cost)
        for place, (own, mask, costs) in enumerate(positions)
        for action, cost in costs.items()
    ]
    position, own, mask, stone, nodes, refutes = (np.array(each) for each in zip(*rows, strict=True))
    side = np.bitwise_count(mask).astype(np.int64) & 1
    mine, theirs = own | stone, own ^ mask
    first, second = np.where(side, theirs, mine), np.where(side, mine, theirs)
    codes = np.zeros((len(rows), NUM_LINES), np.int64)
    for place, cells in enumerate(all_lines().T):
        codes += 3**place * ((first[:, None] >> cells & 1) + 2 * (second[:, None] >> cells & 1))
    named = np.array([features_of(*row[1:4]) for row in rows], np.float64)
    columns = np.concatenate(
        [
            free[np.arange(NUM_LINES), codes] + number * side[:, None],
            2 * number + np.arange(NUM_FEATURES) + NUM_FEATURES * side[:, None],
        ],
        axis=1,
    )
    data = np.concatenate([np.ones(codes.shape), named / FEATURE_UNIT], axis=1)
    ends = np.arange(len(rows) + 1) * columns.shape[1]
    shape = (len(rows), 2 * (number + NUM_FEATURES))
    inputs = csr_matrix((data.reshape(-1), columns.reshape(-1), ends), shape=shape)
    return Moves(inputs, position, nodes.astype(np.float64), refutes)


def features_of(own: int, mask: int, stone: int) -> tuple[int, ...]:
    """Return the features that `merit` sees of a stone."""
    column = (stone.bit_length() - 1) // 7
    return *features(own, mask, stone, threats(own ^ mask, mask)), 3 - abs(column - 3)


def pairs_of(moves: Moves) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return pairs of moves of a position of which the first should be tried first, and what each is worth.

    A pair is worth the logarithm of the nodes that the wrong order wastes, relative to the cheapest
    refutation.
    """
    better: list[int] = []
    worse: list[int] = []
    worth: list[float] = []
    begin = 0
    nodes, refutes = moves.nodes.tolist(), moves.refutes.tolist()
    for size in np.bincount(moves.position).tolist():
        group = range(begin, begin + size)
        begin += size
        least = min((nodes[move] for move in group if refutes[move]), default=0.0)
        for move in group:
            for other in group:
                waste = nodes[other] - (nodes[move] if refutes[other] else 0)
                if move != other and refutes[move] and waste > 0:
                    better.append(move)
                    worse.append(other)
                    worth.append(float(np.log1p(waste / least)))
    return np.array(better), np.array(worse), np.array(worth)


def fitted(moves: Moves) -> NDArray[np.int8]:
    """Return the weights, `[2 * NUM_WEIGHTS]`: logistic regression on pairs, plus the plain order."""
    better, worse, worth = pairs_of(moves)
    differences = csr_matrix(moves.inputs[better] - moves.inputs[worse])
    transposed = csr_matrix(differences.T)

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        odds = differences @ weights
        slope = worth / (1 + np.exp(odds))
        value = worth @ np.logaddexp(0, -odds) + REGULAR / 2 * weights @ weights
        return float(value), REGULAR * weights - transposed @ slope

    free, number = tied_weights()
    begin = np.zeros(2 * (number + NUM_FEATURES))
    begin[2 * number :] = np.tile(np.array(PLAIN) * FEATURE_UNIT / 32, 2)
    found = minimize(loss, begin, jac=True, method="L-BFGS-B", options={"maxiter": 120}).x
    lines = np.stack([found[:number][free], found[number : 2 * number][free]]).reshape(2, -1)
    named = found[2 * number :].reshape(2, -1) / FEATURE_UNIT
    weights = np.concatenate([SCALE * named + PLAIN, SCALE * lines], axis=1)
    return np.clip(np.rint(weights), -127, 127).astype(np.int8).reshape(-1)


def main() -> int:
    """Measure, fit, and write the weights with their provenance."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--roots", type=int, default=200, help="number of searches to draw from")
    parser.add_argument("--per-ply", type=int, default=1000, help="number of positions per ply")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    begin = time.process_time()
    positions = drawn(chosen.seed, chosen.roots, chosen.per_ply)
    _say(f"{len(positions)} positions drawn, {time.process_time() - begin:.0f} s of CPU")
    memory = new_memory(TOP_BITS, plain_order())
    searched = [measured(memory, *position) for position in positions]
    # A position whose refutation takes too long teaches nothing.
    useful = [each for each in searched if len(each.costs) > 1 and _is_refuted(each)]
    _say(f"{len(useful)} positions measured, {time.process_time() - begin:.0f} s of CPU")
    weights = fitted(moves_of(useful))
    SHIPPED.write_bytes(zlib.compress(weights.tobytes(), 9))
    facts = {
        "sha256": hashlib.sha256(SHIPPED.read_bytes()).hexdigest(),
        "command": "make move-order",
        "weights": len(weights),
        "positions": len(useful),
        "roots": chosen.roots,
        "seed": chosen.seed,
        "solver": f"bot-arena {version('bot-arena')}, arena.games.solver, no other program's data",
        "cpu_seconds": round(time.process_time() - begin),
        "python": platform.python_version(),
        "numba": version("numba"),
        "scipy": version("scipy"),
        "processor": platform.machine(),
        "date": datetime.now(UTC).date().isoformat(),
    }
    text = "".join(f"{key} = {json.dumps(value)}\n" for key, value in facts.items())
    SHIPPED.with_suffix(".order.provenance.toml").write_text(text, "utf-8")
    _say(f"{SHIPPED}: {SHIPPED.stat().st_size} bytes")
    return 0


def _is_refuted(position: Refuted) -> bool:
    return any(refutes for _, refutes in position.costs.values())


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())

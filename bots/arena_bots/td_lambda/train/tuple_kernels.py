"""Compiled self-play and learning with n-tuples: whole games, then TD(lambda) backwards from the end."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena.games.kernels.chance import draw
from arena.games.kernels.compiling import inline_kernel, kernel
from arena.games.kernels.rules import has_line, land
from arena_bots.td_lambda.train.openings import happens, opening_length, random_action
from arena_bots.td_lambda.tuples import COLUMNS, KEYS, ROWS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arena.games.kernels.compiling import Int
    from arena.games.kernels.layout import Layout

_ZERO = np.uint64(0)
_LANE = np.uint64(ROWS + 1)
_KEY = np.uint64(KEYS - 1)
_CELLS = ROWS * COLUMNS
_PARTS = 1 << 20
"""Fixed-point resolution of the reported errors."""
_WIN = np.float32(1e9)
"""Sum of a won after-state, larger than any sum of weights."""
_LEAST_RATE = np.float32(1 / 15)
"""Learning rate factor of a weight whose recommended changes cancel out.

This factor and the parabola above it stay within 0.05 of exp(2.7 (x - 1)), the transfer function that the
source found best (TCL-EXP), at a twentieth of its cost.
"""

ALPHA, EPSILON, LAMBDA, OPENING, ALONE = range(5)
"""Indices of `rates`: step size, exploration probability, trace, probability of random plies, probability
that only one player explores."""


_NUM_PLIES, _ERROR = 3, 4
"""Indices of `results`, after the three outcomes."""


class TupleTables(NamedTuple):
    """The learnt tables, separate for after-states with an even and an odd number of stones."""

    weights: NDArray[np.float32]
    """Weights, whose sum is the artanh of the value for the first player; `[2, entries]`."""
    sums: NDArray[np.float32]
    """Sums of the recommended changes; `[2, entries]`."""
    sizes: NDArray[np.float32]
    """Sums of the absolute recommended changes; `[2, entries]`."""


class Desk(NamedTuple):
    """The record of the game being played."""

    entries: NDArray[np.int32]
    """Table entries of the position at each ply; `[43, 2 * num_tuples]`."""
    trial: NDArray[np.int32]
    """Table entries of the after-state being evaluated; `[2 * num_tuples]`."""
    scores: NDArray[np.float32]
    """Sum of weights of each action's after-state; `[7]`."""
    values: NDArray[np.float32]
    """Value of the position at each ply, for the first player; `[43]`."""
    greedy: NDArray[np.float32]
    """Value of the best after-state at each ply; `[43]`."""
    explored: NDArray[np.bool_]
    """Whether the action at each ply was exploratory; `[43]`."""


def new_memory(entries: int) -> TupleTables:
    """Return tables of zeros."""
    shape = (2, entries)
    return TupleTables(np.zeros(shape, np.float32), np.zeros(shape, np.float32), np.zeros(shape, np.float32))


def new_desk(width: int) -> Desk:
    """Return a record for `width` table entries per position."""
    plies = _CELLS + 1
    return Desk(
        np.zeros((plies, width), np.int32),
        np.zeros(width, np.int32),
        np.zeros(COLUMNS, np.float32),
        np.zeros(plies, np.float32),
        np.zeros(plies, np.float32),
        np.zeros(plies, np.bool_),
    )


@kernel
def learn(
    layout: Layout,
    parts: NDArray[np.int32],
    memory: TupleTables,
    desk: Desk,
    rates: NDArray[np.float32],
    chance: NDArray[np.uint64],
    num_games: Int,
    results: NDArray[np.int64],
) -> None:
    """Play `num_games` games and learn from them.

    Adds to `results`: wins of the first player, draws, wins of the second player, plies, error. The error is
    the sum of the absolute differences between targets and values, in units of 2^-20.
    """
    for _ in range(num_games):
        start, last, outcome = _play(layout, parts, memory, desk, rates, chance)
        results[1 - outcome] += 1
        results[_NUM_PLIES] += last
        results[_ERROR] += _learn_from(memory, desk, rates, start, last, np.float32(outcome))


@inline_kernel
def _play(
    layout: Layout,
    parts: NDArray[np.int32],
    memory: TupleTables,
    desk: Desk,
    rates: NDArray[np.float32],
    chance: NDArray[np.uint64],
) -> tuple[Int, Int, Int]:
    """Play one game into `desk`; return the ply at which learning starts, the last ply and the outcome."""
    own = opp = _ZERO
    state = chance[0]
    for entry in range(desk.trial.shape[0]):
        total = np.int32(0)
        for column in range(COLUMNS):
            # Key 1 is an empty column.
            total += parts[column, 1, entry]
        desk.entries[0, entry] = total
    state, start = opening_length(state, rates[OPENING])
    # If only the opponent explores, a player learns how its best line does against arbitrary play.
    greedy_player = -1
    if rates[ALONE] > 0:
        state, alone = happens(state, rates[ALONE])
        state, player = draw(state, 2)
        if alone:
            greedy_player = player
    ply = 0
    while True:
        sign = np.float32(1 - 2 * (ply & 1))
        occupied = own | opp
        state, action = random_action(state, occupied, layout)
        if ply >= start:
            state, best = _best_action(state, own, opp, ply, layout, parts, memory, desk)
            desk.greedy[ply] = math.tanh(sign * desk.scores[best])
            state, explores = happens(state, rates[EPSILON])
            explores = explores and ply & 1 != greedy_player
            # A random action that happens to be the best one does not cut the return.
            desk.explored[ply] = explores and action != best
            if not explores:
                action = best
        stone = land(occupied, action, layout)
        own |= stone
        _enter(parts, desk.entries[ply], desk.entries[ply + 1], own, opp, stone, action, ply)
        ply += 1
        if has_line(own, layout):
            chance[0] = state
            return start, ply, 1 - 2 * ((ply - 1) & 1)
        if own | opp == layout.full:
            chance[0] = state
            return start, ply, 0
        own, opp = opp, own


@inline_kernel
def _best_action(
    state: np.uint64,
    own: np.uint64,
    opp: np.uint64,
    ply: Int,
    layout: Layout,
    parts: NDArray[np.int32],
    memory: TupleTables,
    desk: Desk,
) -> tuple[np.uint64, Int]:
    """Return the action with the best after-state, ties broken at random; set `desk.scores` for the mover."""
    sign = np.float32(1 - 2 * (ply & 1))
    occupied = own | opp
    weights = memory.weights[(ply + 1) & 1]
    best, count = -1, 0
    for action in range(COLUMNS):
        stone = land(occupied, action, layout)
        if not stone:
            continue
        if has_line(own | stone, layout):
            desk.scores[action] = _WIN
        elif occupied | stone == layout.full:
            desk.scores[action] = 0
        else:
            _enter(parts, desk.entries[ply], desk.trial, own | stone, opp, stone, action, ply)
            desk.scores[action] = sign * _total(weights, desk.trial)
        if best < 0 or desk.scores[action] > desk.scores[best]:
            best, count = action, 1
        elif desk.scores[action] == desk.scores[best]:
            # Reservoir sampling: the n-th equal action replaces the choice with probability 1/n.
            count += 1
            state, number = draw(state, count)
            if number == 0:
                best = action
    return state, best


@inline_kernel
def _enter(
    parts: NDArray[np.int32],
    before: NDArray[np.int32],
    after: NDArray[np.int32],
    own: np.uint64,
    opp: np.uint64,
    stone: np.uint64,
    action: Int,
    ply: Int,
) -> None:
    """Write the table entries of the position after a stone, which is already part of `own`."""
    shift = np.uint64(action) * _LANE
    occupied = own | opp
    first = opp if ply & 1 else own
    # The key of a column is its occupied bits plus the first player's bits plus one at the bottom: the sum
    # carries through the stones, which gives 2^height plus the first player's stones.
    bottom = np.uint64(1) << shift
    lane = _KEY << shift
    new = ((first & lane) + (occupied & lane) + bottom) >> shift
    occupied ^= stone
    first &= ~stone
    old = ((first & lane) + (occupied & lane) + bottom) >> shift
    # A stone changes only its own column, so only that column's part of each entry is replaced.
    add, drop = parts[action, np.int64(new)], parts[action, np.int64(old)]
    for entry in range(after.shape[0]):
        after[entry] = before[entry] + (add[entry] - drop[entry])


@inline_kernel
def _total(weights: NDArray[np.float32], entries: NDArray[np.int32]) -> np.float32:
    """Return the sum of weights; four partial sums in parallel hide the latency of the additions."""
    a = b = c = d = np.float32(0)
    # Every tuple has a mirror image, so the number of entries is even.
    for entry in range(0, entries.shape[0] - 3, 4):
        a += weights[np.uint32(entries[entry])]
        b += weights[np.uint32(entries[entry + 1])]
        c += weights[np.uint32(entries[entry + 2])]
        d += weights[np.uint32(entries[entry + 3])]
    for entry in range(entries.shape[0] & ~3, entries.shape[0]):
        a += weights[np.uint32(entries[entry])]
    return (a + b) + (c + d)


@inline_kernel
def _learn_from(
    memory: TupleTables,
    desk: Desk,
    rates: NDArray[np.float32],
    start: Int,
    last: Int,
    outcome: np.float32,
) -> Int:
    """Move the values of a game towards their returns, from the end backwards; return the sum of errors.

    The return is (1 - lambda) V(next) + lambda R(next), or the outcome at the end. Before an exploratory
    action it is the value of the best after-state, because what followed says nothing about the position.
    """
    target = value = outcome
    error = np.float32(0)
    # Down to the end of the random opening; the empty board is no after-state.
    for back in range(last - max(start, 1)):
        ply = last - 1 - back
        if desk.explored[ply]:
            target = desk.greedy[ply]
        else:
            target = (1 - rates[LAMBDA]) * value + rates[LAMBDA] * target
        weights, sums, sizes = memory.weights[ply & 1], memory.sums[ply & 1], memory.sizes[ply & 1]
        entries = desk.entries[ply]
        value = np.float32(math.tanh(_total(weights, entries)))
        # Gradient of the squared error through tanh.
        change = (target - value) * (1 - value * value)
        error += abs(target - value)
        step = rates[ALPHA] * change
        size = abs(change)
        for number in range(entries.shape[0]):
            entry = np.uint32(entries[number])
            # The rate follows how consistent past changes were: 1 if all had one sign, near 0 if they cancel.
            ratio = abs(sums[entry]) / sizes[entry] if sizes[entry] > 0 else np.float32(1)
            weights[entry] += step * (_LEAST_RATE + (1 - _LEAST_RATE) * ratio * ratio)
            sums[entry] += change
            sizes[entry] += size
    return np.int64(error * np.float32(_PARTS))

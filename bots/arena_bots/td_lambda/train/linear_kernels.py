"""Compiled TD(lambda) with a linear value of after-states, by self-play and against a shallow opponent.

For each player: delta = r + gamma V(own next after-state) - V(own last one), e = gamma lambda e + dV/dw,
w = w + alpha delta e, with r = 1 for a win, -1 for a loss, and V = 0 at the end (Sutton and Barto,
Reinforcement learning, 2018, section 12.2). Traces are reset at the start of each game and after each
exploratory action.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena.games.kernels.bits import bit_number, num_bits
from arena.games.kernels.chance import draw
from arena.games.kernels.compiling import inline_kernel, kernel
from arena.games.kernels.layout import WORD
from arena.games.kernels.rules import completing, has_line, land, landings
from arena_bots.td_lambda.features import BITS, CELLS, LINES, MIDDLE, NUM_FEATURES, OTHER_LINES, OWN_LINES
from arena_bots.td_lambda.train.openings import happens, opening_length, random_action
from arena_bots.td_lambda.tuples import COLUMNS, ROWS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arena.games.kernels.compiling import Int
    from arena.games.kernels.layout import Layout

_ZERO = np.uint64(0)
_BELOW = np.float64(-1e18)
"""Below every value."""
_MIDDLE_COLUMN = COLUMNS // 2

ALPHA, EPSILON, LAMBDA, GAMMA, OPENING, RIVAL, SQUASHED, RULES = range(8)
"""Indices of `numbers`: step size, exploration probability, trace, discount, probability of a random opening
and of the shallow opponent, and whether the value is bounded by tanh and wins are blocked in training."""


_GAMES, _ERROR, _NUM_ERRORS = 3, 4, 5
"""Indices of `results`, after the three outcomes against the opponent."""


class LinearLearner(NamedTuple):
    """The learnt weights and the scratch space of learning."""

    weights: NDArray[np.float64]
    """The weights; `[87]`."""
    traces: NDArray[np.float64]
    """The eligibility traces of each player; `[2, 87]`."""
    last: NDArray[np.float64]
    """Features of each player's last after-state; `[2, 87]`."""
    trial: NDArray[np.float64]
    """Features of the after-state being evaluated; `[87]`."""
    cells: NDArray[np.int64]
    """The feature of each bit of the board; `[64]`."""


def new_learner(weights: NDArray[np.float64] | None = None) -> LinearLearner:
    """Return a learner with the given weights, by default zeros."""
    cells = np.zeros(WORD, np.int64)
    cells[BITS.astype(np.intp)] = np.arange(CELLS)
    start = np.zeros(NUM_FEATURES) if weights is None else weights.copy()
    pair = (2, NUM_FEATURES)
    return LinearLearner(start, np.zeros(pair), np.zeros(pair), np.zeros(NUM_FEATURES), cells)


@kernel
def learn_linear(
    layout: Layout,
    windows: NDArray[np.uint64],
    learner: LinearLearner,
    numbers: NDArray[np.float64],
    chance: NDArray[np.uint64],
    num_games: Int,
    results: NDArray[np.float64],
) -> None:
    """Play games and learn from them.

    Adds to `results`: wins, draws and losses against the opponent; games; sum of absolute errors; their
    number.
    """
    state = chance[0]
    for _ in range(num_games):
        state, has_rival = happens(state, numbers[RIVAL])
        state, rival = draw(state, 2)
        if not has_rival:
            rival = -1
        state, outcome = _play(layout, windows, learner, numbers, state, rival, results)
        if rival >= 0:
            # The result for the learner, which is the player that is not the rival.
            seen = outcome if rival == 1 else -outcome
            results[1 - seen] += 1
        results[_GAMES] += 1
    chance[0] = state


@inline_kernel
def _play(
    layout: Layout,
    windows: NDArray[np.uint64],
    learner: LinearLearner,
    numbers: NDArray[np.float64],
    state: np.uint64,
    rival: Int,
    results: NDArray[np.float64],
) -> tuple[np.uint64, Int]:
    """Play a game in which the shallow opponent is player `rival` (-1 for none); return the outcome."""
    own = opp = _ZERO
    # A trace ends with its game.
    learner.traces[:] = 0
    state, start = opening_length(state, numbers[OPENING])
    ply = begun = 0
    while True:
        player = ply & 1
        if ply < start:
            state, action = random_action(state, own | opp, layout)
        elif player == rival:
            state, action = _shallow_action(state, own, opp, layout)
        else:
            # `begun` has one bit per player: whether it has an after-state to learn from.
            is_begun = begun >> player & 1
            state, action = _move(
                layout, windows, learner, numbers, state, own, opp, player, is_begun, results
            )
            begun |= 1 << player
        own |= land(own | opp, action, layout)
        ply += 1
        outcome = 0
        if has_line(own, layout):
            outcome = 1 - 2 * player
        elif own | opp != layout.full:
            own, opp = opp, own
            continue
        for side in range(2):
            if begun >> side & 1:
                _update(learner, numbers, side, np.float64(outcome * (1 - 2 * side)), results)
        return state, outcome


@inline_kernel
def _move(
    layout: Layout,
    windows: NDArray[np.uint64],
    learner: LinearLearner,
    numbers: NDArray[np.float64],
    state: np.uint64,
    own: np.uint64,
    opp: np.uint64,
    player: Int,
    is_begun: Int,
    results: NDArray[np.float64],
) -> tuple[np.uint64, Int]:
    """Learn from the position's value, and choose an action."""
    free = landings(own | opp, layout)
    wins = completing(own, layout) & free
    blocks = completing(opp, layout) & free
    allowed = blocks if blocks and numbers[RULES] > 0 else free
    state, explores = happens(state, numbers[EPSILON])
    if wins and not explores:
        # No learning here: the end of the game supplies the target of the last after-state.
        return state, layout.actions[bit_number(wins)]
    state, best, most = _best(layout, windows, learner, numbers, state, own, opp, allowed)
    if is_begun:
        # The target of the last after-state is the value of the next one, before any exploration.
        _update(learner, numbers, player, np.float64(1) if wins else numbers[GAMMA] * most, results)
    trace, last = learner.traces[player], learner.last[player]
    if explores:
        # An exploratory action cuts the trace: later rewards do not belong to earlier after-states.
        trace[:] = 0
        state, best = random_action(state, own | opp, layout)
    stone = land(own | opp, best, layout)
    value = _value(learner, numbers, windows, own | stone, opp, last)
    # The derivative of tanh, or of the identity.
    slope = 1 - value * value if numbers[SQUASHED] > 0 else np.float64(1)
    # The accumulating trace of Sutton and Barto, Reinforcement Learning (2018), section 12.2.
    for feature in range(NUM_FEATURES):
        trace[feature] = numbers[GAMMA] * numbers[LAMBDA] * trace[feature] + slope * last[feature]
    return state, best


@inline_kernel
def _best(
    layout: Layout,
    windows: NDArray[np.uint64],
    learner: LinearLearner,
    numbers: NDArray[np.float64],
    state: np.uint64,
    own: np.uint64,
    opp: np.uint64,
    allowed: np.uint64,
) -> tuple[np.uint64, Int, np.float64]:
    """Return the allowed action with the highest value, ties broken at random, and that value."""
    best, most, count = layout.actions[bit_number(allowed)], _BELOW, 0
    for action in range(COLUMNS):
        stone = land(own | opp, action, layout)
        if not stone & allowed:
            continue
        worth = np.float64(0)
        # A full board is a draw, worth 0.
        if own | opp | stone != layout.full:
            worth = _value(learner, numbers, windows, own | stone, opp, learner.trial)
        if worth > most:
            best, most, count = action, worth, 1
        elif worth == most:
            # Reservoir sampling: the n-th equal action replaces the choice with probability 1/n.
            count += 1
            state, number = draw(state, count)
            if number == 0:
                best = action
    return state, best, most


@inline_kernel
def _update(
    learner: LinearLearner,
    numbers: NDArray[np.float64],
    player: Int,
    target: np.float64,
    results: NDArray[np.float64],
) -> None:
    """Move the weights so that the value of a player's last after-state approaches `target`."""
    total = np.float64(0)
    for feature in range(NUM_FEATURES):
        total += learner.weights[feature] * learner.last[player, feature]
    value = math.tanh(total) if numbers[SQUASHED] > 0 else total
    error = target - value
    for feature in range(NUM_FEATURES):
        learner.weights[feature] += numbers[ALPHA] * error * learner.traces[player, feature]
    results[_ERROR] += abs(error)
    results[_NUM_ERRORS] += 1


@inline_kernel
def _value(
    learner: LinearLearner,
    numbers: NDArray[np.float64],
    windows: NDArray[np.uint64],
    own: np.uint64,
    opp: np.uint64,
    features: NDArray[np.float64],
) -> np.float64:
    """Write the features of an after-state of `own`, and return its value."""
    features[:] = 0
    stones = own
    while stones:
        features[learner.cells[bit_number(stones)]] = 1
        stones &= stones - np.uint64(1)
    stones = opp
    while stones:
        features[CELLS + learner.cells[bit_number(stones)]] = 1
        stones &= stones - np.uint64(1)
    # A column has `ROWS` cells and a guard bit.
    middle = own >> np.uint64(_MIDDLE_COLUMN * (ROWS + 1)) & np.uint64((1 << ROWS) - 1)
    features[MIDDLE] = np.float64(num_bits(middle)) / ROWS
    # A window counts for a player only if the other one has no stone in it.
    own_lines = other_lines = 0
    for window in windows:
        has_own, has_other = own & window != _ZERO, opp & window != _ZERO
        own_lines += has_own and not has_other
        other_lines += has_other and not has_own
    features[OWN_LINES] = own_lines / LINES
    features[OTHER_LINES] = other_lines / LINES
    total = np.float64(0)
    for feature in range(NUM_FEATURES):
        total += learner.weights[feature] * features[feature]
    return np.float64(math.tanh(total)) if numbers[SQUASHED] > 0 else total


_WIN, _FORCED, _OPEN, _LOSS = 2, 1, 0, -1


@inline_kernel
def _shallow_action(
    state: np.uint64, own: np.uint64, opp: np.uint64, layout: Layout
) -> tuple[np.uint64, Int]:
    """Return the next random state and an action: a win, else a forced win, else one that does not lose.

    Ties are broken at random.
    """
    best, score, count = -1, _LOSS - 1, 0
    for action in range(layout.num_actions):
        stone = land(own | opp, action, layout)
        if not stone:
            continue
        worth = _worth(own | stone, opp, layout)
        if worth > score:
            best, score, count = action, worth, 1
        elif worth == score:
            count += 1
            state, number = draw(state, count)
            if number == 0:
                best = action
    return state, best


@inline_kernel
def _worth(own: np.uint64, opp: np.uint64, layout: Layout) -> Int:
    """Evaluate the position after a stone of `own` by the next two plies."""
    if has_line(own, layout):
        return _WIN
    replies = landings(own | opp, layout)
    if completing(opp, layout) & replies:
        return _LOSS
    wins = completing(own, layout)
    if not replies or not wins:
        return _OPEN
    for action in range(layout.num_actions):
        reply = land(own | opp, action, layout)
        # After the reply, which may fill the winning cell, or open one above itself.
        if reply and not wins & landings(own | opp | reply, layout):
            return _OPEN
    return _FORCED


@kernel
def choose_shallow(own: np.uint64, opp: np.uint64, layout: Layout, chance: NDArray[np.uint64]) -> Int:
    """Return the action of this opponent for the side to move."""
    chance[0], action = _shallow_action(chance[0], own, opp, layout)
    return action

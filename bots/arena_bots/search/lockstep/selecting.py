"""Selecting actions and evaluating roots: PUCT, the improved policy, sequential halving.

PUCT: Q + c P sqrt(N) / (1 + n), with N the visits of the node, its own evaluation included; Silver et al.,
Mastering the game of Go without human knowledge (2017). The improved policy: Danihelka, Guez, Schrittwieser,
Silver, Policy improvement by planning with Gumbel (ICLR 2022), sections 3 to 5 and appendix D.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil, log2
from typing import TYPE_CHECKING

import numpy as np

from arena.games.kernels.compiling import inline_kernel, kernel
from arena_bots.search.lockstep.forest import DRAW, LOSS, NOWHERE, UNKNOWN, WIN, mean

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arena.games.kernels.compiling import Int
    from arena_bots.search.lockstep.forest import Forest, Rule

_LEAST = np.float32(-3e38)
"""Below every score; close to the least number of 32 bits."""
_TINY = np.float32(1e-30)
"""Least prior, so that its logarithm is finite."""
_MAX_SCHEDULES = 1024
"""Number of schedules that are kept."""
_HALF = np.float32(0.5)
_ONE = np.float32(1)


@inline_kernel
def _is_lost(forest: Forest, lane: Int, node: Int, action: Int) -> bool:
    """Return whether an action is proven to let the opponent win."""
    child = np.int64(forest.child[lane, node, action])
    return bool(child and forest.proof[lane, child] == WIN)


@inline_kernel
def node_value(forest: Forest, lane: Int, node: Int) -> np.float32:
    """Estimate a node's value from the network and the search: v_mix of appendix D, for the side to move."""
    seen, weighted, visits = np.float32(0), np.float32(0), 0
    for action in range(forest.prior.shape[2]):
        count = np.int64(forest.visits[lane, node, action])
        if count:
            prior = max(forest.prior[lane, node, action], _TINY)
            seen += prior
            weighted += prior * mean(forest, lane, node, action)
            visits += count
    if not visits:
        return forest.worth[lane, node]
    # The network's value counts like one visit beside the prior-weighted mean of the searched actions.
    number = np.float32(visits)
    return (forest.worth[lane, node] + number * weighted / seen) / (_ONE + number)


@inline_kernel
def _scale(forest: Forest, lane: Int, node: Int, rule: Rule) -> np.float32:
    """Return the weight of a value in [0, 1] relative to a logit: c_visit + the largest number of visits."""
    most = 0
    for action in range(forest.prior.shape[2]):
        most = max(most, np.int64(forest.visits[lane, node, action]))
    return np.float32(rule.c_visit + most)


@inline_kernel
def _score(
    forest: Forest, lane: Int, node: Int, action: Int, value: np.float32, scale: np.float32
) -> np.float32:
    """Return logit plus scaled completed value of an action; an untried action has the value `value`."""
    if forest.visits[lane, node, action]:
        value = mean(forest, lane, node, action)
    logit = np.log(max(forest.prior[lane, node, action], _TINY))
    # Values in [-1, 1] are mapped to [0, 1], the range for which the scale is meant.
    return np.float32(logit + scale * (value + _ONE) * _HALF)


@inline_kernel
def select(forest: Forest, lane: Int, node: Int, rule: Rule) -> Int:
    """Return the action to follow from a node with priors; one that is proven lost only if all are."""
    if rule.is_gumbel:
        return _select_improved(forest, lane, node, rule)
    return _select_puct(forest, lane, node, rule)


@inline_kernel
def _select_puct(forest: Forest, lane: Int, node: Int, rule: Rule) -> Int:
    # The node's own evaluation counts as one visit.
    visits, total = 1, forest.worth[lane, node]
    for action in range(forest.prior.shape[2]):
        visits += np.int64(forest.visits[lane, node, action])
        total += forest.total[lane, node, action]
    # First-play urgency: the value that stands for an untried action.
    fresh = np.float32(0) if rule.cautious else total / np.float32(visits)
    scale = np.float32(rule.c_puct * np.sqrt(np.float32(visits)))
    best, chosen, any_action = _LEAST, NOWHERE, NOWHERE
    for action in range(forest.prior.shape[2]):
        prior = forest.prior[lane, node, action]
        if prior < 0:
            continue
        # Kept in case every action is proven lost: one of them must be returned.
        any_action = action
        if _is_lost(forest, lane, node, action):
            continue
        count = np.int64(forest.visits[lane, node, action])
        value = mean(forest, lane, node, action) if count else fresh
        bound = value + scale * prior / np.float32(1 + count)
        if bound > best:
            best, chosen = bound, action
    return chosen if chosen != NOWHERE else any_action


@inline_kernel
def _select_improved(forest: Forest, lane: Int, node: Int, rule: Rule) -> Int:
    """Return the action whose share of visits is furthest below its improved probability (section 5)."""
    value, scale = node_value(forest, lane, node), _scale(forest, lane, node, rule)
    top, visits = _LEAST, 0
    # Softmax of the scores; subtracting the largest keeps exp from overflowing.
    for action in range(forest.prior.shape[2]):
        if forest.prior[lane, node, action] >= 0:
            top = max(top, _score(forest, lane, node, action, value, scale))
            visits += np.int64(forest.visits[lane, node, action])
    weight = np.float32(0)
    for action in range(forest.prior.shape[2]):
        if forest.prior[lane, node, action] >= 0:
            weight += np.exp(_score(forest, lane, node, action, value, scale) - top)
    best, chosen, any_action = _LEAST, NOWHERE, NOWHERE
    for action in range(forest.prior.shape[2]):
        if forest.prior[lane, node, action] < 0:
            continue
        any_action = action
        if _is_lost(forest, lane, node, action):
            continue
        share = np.exp(_score(forest, lane, node, action, value, scale) - top) / weight
        bound = share - np.float32(forest.visits[lane, node, action]) / np.float32(1 + visits)
        if bound > best:
            best, chosen = bound, action
    return chosen if chosen != NOWHERE else any_action


@kernel
def halve(
    forest: Forest,
    rule: Rule,
    gumbel: NDArray[np.float32],
    wanted: NDArray[np.int32],
    actions: NDArray[np.int32],
) -> None:
    """Choose root actions by sequential halving: the most promising action with `wanted` visits.

    `gumbel`, `[lanes, num_actions]`, is added to logit and value. `wanted`, `[lanes]`, may be negative, and
    the lane is then without a choice. Results are written to `actions`, `[lanes]`, NOWHERE if no action has
    that number of visits.
    """
    for lane in range(len(actions)):
        actions[lane] = NOWHERE
        if wanted[lane] < 0:
            continue
        value, scale = node_value(forest, lane, 0), _scale(forest, lane, 0, rule)
        best = _LEAST
        for action in range(forest.prior.shape[2]):
            # Only actions at the current level of the schedule compete.
            if forest.prior[lane, 0, action] < 0 or forest.visits[lane, 0, action] != wanted[lane]:
                continue
            score = gumbel[lane, action] + _score(forest, lane, 0, action, value, scale)
            if score > best:
                best = score
                actions[lane] = action


@kernel
def improve(forest: Forest, rule: Rule, policy: NDArray[np.float32], values: NDArray[np.float32]) -> None:
    """Write the improved policies of the roots, and the roots' values for the side to move.

    Equation 11: softmax(logits + scaled completed values); `policy` is `[lanes, num_actions]`.
    """
    for lane in range(len(values)):
        value, scale = node_value(forest, lane, 0), _scale(forest, lane, 0, rule)
        top, weight = _LEAST, np.float32(0)
        for action in range(forest.prior.shape[2]):
            if forest.prior[lane, 0, action] >= 0:
                top = max(top, _score(forest, lane, 0, action, value, scale))
        for action in range(forest.prior.shape[2]):
            policy[lane, action] = 0
            if forest.prior[lane, 0, action] >= 0:
                share = np.exp(_score(forest, lane, 0, action, value, scale) - top)
                policy[lane, action] = share
                weight += share
        for action in range(forest.prior.shape[2]):
            policy[lane, action] /= weight
        proof = np.int64(forest.proof[lane, 0])
        # A proof is exact, whatever the playouts before it say.
        values[lane] = value if proof == UNKNOWN else np.float32(DRAW - proof)


@kernel
def edge_proofs(forest: Forest, lane: Int, proofs: NDArray[np.int8]) -> None:
    """Write what is proven of the root's actions, for their player, encoded as for nodes; `[num_actions]`."""
    for action in range(len(proofs)):
        child = np.int64(forest.child[lane, 0, action])
        known = np.int64(forest.proof[lane, child]) if child else UNKNOWN
        proofs[action] = UNKNOWN if known == UNKNOWN else WIN + LOSS - known


DONE = -1
"""No simulation is left."""


@lru_cache(maxsize=_MAX_SCHEDULES)
def schedule(considered: int, simulations: int) -> tuple[int, ...]:
    """Return, for each simulation, the current visits of the action to begin with; `[simulations]`.

    The `considered` most promising actions are visited equally often, then the better half of them, and so on
    down to two; each phase gets about the same number of simulations. Source: Danihelka et al. (2022),
    figure 1.
    """
    if considered <= 1:
        return tuple(range(simulations))
    phases = ceil(log2(considered))
    visits, wanted = [0] * considered, list[int]()
    left = considered
    while len(wanted) < simulations:
        for _ in range(max(1, simulations // (phases * left))):
            wanted += visits[:left]
            # The best come first: each phase continues with the first `left` of the previous one.
            visits[:left] = [count + 1 for count in visits[:left]]
        left = max(2, left // 2)
    return tuple(wanted[:simulations])


def schedules(considered: NDArray[np.int64], budgets: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the schedules of many lanes, padded with DONE; `[lanes, largest budget]`."""
    wanted = np.full((len(budgets), int(budgets.max(initial=0))), DONE, np.int32)
    for lane, (number, budget) in enumerate(zip(considered.tolist(), budgets.tolist(), strict=True)):
        wanted[lane, :budget] = schedule(number, budget)
    return wanted

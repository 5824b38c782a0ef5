"""A plain implementation of the search that a net guides, to compare the compiled one with."""

from __future__ import annotations

from math import exp, log, sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arena.games.k_in_a_row import KInARow, KInARowState
    from arena_bots.search.lockstep.forest import Rule


class WaveNet:
    """A meaningless net: its output depends only on the stones, and is the same in any batch."""

    def __init__(self, logits: int, planes: int = 3) -> None:
        self.planes = planes
        self._logits = logits

    def __call__(self, planes: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Evaluate boards."""
        flat = planes.reshape(len(planes), -1).astype(np.int64)
        keys = (flat * (7 * np.arange(flat.shape[1]) ** 2 + 3)).sum(axis=1) % 10007
        steps = np.arange(1, self._logits + 1)
        logits = 2 * np.sin(keys[:, None] * 0.37 * steps + steps**2)
        return logits.astype(np.float32), np.sin(keys * 1.7).astype(np.float32)


class Judged(NamedTuple):
    """What is known of a position without search."""

    proof: int | None
    """1, 0 or -1 for the side to move, if it is certain."""
    actions: list[int]
    """Actions to search."""


def winning(state: KInARowState) -> list[int]:
    """Return the actions that win at once."""
    player = state.current_player
    return [action for action in state.legal_actions if state.child(action).returns[player] > 0]


def judge(state: KInARowState) -> Judged:
    """Find ends, immediate wins, and losses to the next stone."""
    if state.is_terminal:
        return Judged(round(state.returns[state.current_player]), [])
    if wins := winning(state):
        return Judged(1, wins)
    quiet = [action for action in state.legal_actions if not winning(state.child(action))]
    return Judged(None if quiet else -1, quiet)


class PlainNode:
    """A position of the tree."""

    def __init__(self, state: KInARowState, net: WaveNet, *, is_root: bool = False) -> None:
        self.state = state
        self.proof, actions = judge(state)
        if is_root and not actions:
            parries = [action for action in state.legal_actions if _parries(state, action)]
            actions = parries or list(state.legal_actions)
        self.children: dict[int, PlainNode] = {}
        self.visits = dict.fromkeys(actions, 0)
        self.total = dict.fromkeys(actions, 0.0)
        self.priors: dict[int, float] = {}
        self.worth = 0.0
        if self.proof is None or is_root:
            boards = np.zeros((1, 3, *state.game.shape), np.float32)
            cells = np.array(state.cells).reshape(state.game.shape)
            boards[0, 0], boards[0, 1] = (
                cells == 1 + state.current_player,
                cells == 2 - state.current_player,
            )
            boards[0, 2] = state.current_player == 0
            logits, values = net(boards)
            self.worth = float(values[0])
            weights = {action: exp(logits[0, action]) for action in actions}
            self.priors = {action: weight / sum(weights.values()) for action, weight in weights.items()}

    def mean(self, action: int) -> float:
        """Return the mean value of an action."""
        child = self.children[action]
        return -child.proof if child.proof is not None else self.total[action] / self.visits[action]

    def value(self) -> float:
        """Return v_mix."""
        seen = [action for action in self.priors if self.visits[action]]
        if not seen:
            return self.worth
        visits = sum(self.visits.values())
        share = sum(self.priors[action] for action in seen)
        weighted = sum(self.priors[action] * self.mean(action) for action in seen) / share
        return (self.worth + visits * weighted) / (1 + visits)

    def scores(self, rule: Rule) -> dict[int, float]:
        """Return the sum of logit and completed value of each action."""
        value, scale = self.value(), rule.c_visit + max(self.visits.values())
        return {
            action: log(prior) + scale * ((self.mean(action) if self.visits[action] else value) + 1) / 2
            for action, prior in self.priors.items()
        }

    def improved(self, rule: Rule) -> dict[int, float]:
        """Return the improved policy."""
        scores = self.scores(rule)
        top = max(scores.values())
        shares = {action: exp(score - top) for action, score in scores.items()}
        return {action: share / sum(shares.values()) for action, share in shares.items()}

    def select(self, rule: Rule) -> int:
        """Return the action to follow."""
        visits = sum(self.visits.values())
        open_actions = [
            action
            for action in self.priors
            if action not in self.children or self.children[action].proof != 1
        ] or list(self.priors)[-1:]
        if rule.is_gumbel:
            improved = self.improved(rule)
            return max(open_actions, key=lambda a: improved[a] - self.visits[a] / (1 + visits))
        fresh = 0.0 if rule.cautious else (self.worth + sum(self.total.values())) / (1 + visits)
        scale = rule.c_puct * sqrt(1 + visits)
        return max(
            open_actions,
            key=lambda a: (
                (self.mean(a) if self.visits[a] else fresh) + scale * self.priors[a] / (1 + self.visits[a])
            ),
        )


class PlainTree:
    """A search of one game."""

    def __init__(self, state: KInARowState, net: WaveNet, rule: Rule) -> None:
        self.root = PlainNode(state, net, is_root=True)
        self._net = net
        self._rule = rule

    def step(self, first: int | None = None) -> None:
        """Run one simulation."""
        node, path = self.root, list[tuple[PlainNode, int]]()
        while True:
            action = first if first is not None and not path else node.select(self._rule)
            path.append((node, action))
            child = node.children.get(action)
            if child is None:
                child = node.children[action] = PlainNode(node.state.child(action), self._net)
                node = child
                break
            node = child
            if node.proof is not None:
                break
        value = node.worth if node.proof is None else float(node.proof)
        for above, action in reversed(path):
            value = -value
            above.visits[action] += 1
            above.total[action] += value
        if node.proof is not None:
            _prove(path)


def _prove(path: list[tuple[PlainNode, int]]) -> None:
    for node, _action in reversed(path):
        proofs = [node.children[a].proof if a in node.children else None for a in node.priors]
        if -1 in proofs:
            node.proof = 1
        elif None in proofs:
            return
        else:
            node.proof = -max(proof for proof in proofs if proof is not None)


def _parries(state: KInARowState, action: int) -> bool:
    """Return whether a stone takes a cell where the opponent would win now."""
    cell = state.child(action).last
    return any(
        state.child(other).child(reply).last == cell
        for other in state.legal_actions
        if other != action
        for reply in winning(state.child(other))
    )


def random_states(game: KInARow, number: int, seed: int) -> list[KInARowState]:
    """Return positions of random matches that are not over."""
    rng = np.random.default_rng(seed)
    states: list[KInARowState] = []
    while len(states) < number:
        state = game.initial_state()
        for _ in range(int(rng.integers(game.max_length - 1))):
            state = state.child(int(rng.choice(state.legal_actions)))
            if state.is_terminal:
                break
        else:
            states.append(state)
    return states

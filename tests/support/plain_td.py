"""TD(lambda) for Connect Four in plain Python, directly from the formulas: the reference for the kernels.

Source: Sutton and Barto, Reinforcement learning, 2018: after-states (section 6.8), lambda-returns (12.1) and
TD(lambda) (12.2). Eligibility traces are computed as sums over the visited after-states, and lambda-returns
as sums over the later values, not by recursion as in the kernels.

It draws the same random numbers as the kernels, in the same order, so it plays the same games. As in
the kernels, an after-state that ends the game (a full board, or a win found by exploration) is learnt, too,
with the result as its target.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from arena.games.kernels.layout import layout_of, words_of
from arena_bots.td_lambda.train.linear_kernels import choose_shallow
from arena_bots.td_lambda.tuples import keys_of
from game_samples import make

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.games.k_in_a_row import KInARowState
    from arena.games.kernels.layout import Layout
    from arena_bots.td_lambda.tuples import Parts

ROWS, COLUMNS = 6, 7
_GAME = make("connect-four")
_LAYOUT = cast("Layout", layout_of(_GAME))
_WORD = (1 << 64) - 1
_PARTS = 1 << 20
_MOST_RANDOM_PLIES = 8
_LINES = [
    [(row + n * down) * COLUMNS + column + n * right for n in range(4)]
    for row in range(ROWS)
    for column in range(COLUMNS)
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1))
    if row + 3 * down < ROWS and 0 <= column + 3 * right < COLUMNS
]
"""The lines of four as cells, row 0 on top."""


class SplitMix:
    """SplitMix64 on Python's integers: Steele, Lea and Flood (2014), figure 17."""

    def __init__(self, seed: int) -> None:
        self.word = seed

    def next(self) -> int:
        self.word = (self.word + 0x9E3779B97F4A7C15) & _WORD
        mixed = ((self.word ^ self.word >> 30) * 0xBF58476D1CE4E5B9) & _WORD
        mixed = ((mixed ^ mixed >> 27) * 0x94D049BB133111EB) & _WORD
        return mixed ^ mixed >> 31

    def draw(self, count: int) -> int:
        return (self.next() >> 32) * count >> 32

    def happens(self, chance: float) -> bool:
        return self.draw(_PARTS) < chance * _PARTS

    def num_random_plies(self, chance: float) -> int:
        is_random, length = self.happens(chance), 1 + self.draw(_MOST_RANDOM_PLIES)
        return length if is_random else 0

    def action(self, state: KInARowState) -> int:
        return state.legal_actions[self.draw(len(state.legal_actions))]

    def best(self, worth: dict[int, float]) -> int:
        """Return the action of the highest worth; ties up to rounding are broken at random."""
        chosen, count = -1, 0
        for action, value in worth.items():
            if chosen < 0 or value > worth[chosen] + 1e-6:
                chosen, count = action, 1
            elif value > worth[chosen] - 1e-6:
                count += 1
                if self.draw(count) == 0:
                    chosen = action
        return chosen


class LinearNumbers(NamedTuple):
    """Parameters of the linear learner, in the order of the kernel."""

    alpha: float = 0.003
    epsilon: float = 0.1
    trace: float = 0.8
    gamma: float = 0.9
    opening: float = 0.2
    rival: float = 0.5
    squashed: float = 0.0
    rules: float = 0.0


class PlainLinear:
    """The linear value of after-states, one trace per player."""

    def __init__(self, weights: Sequence[float], numbers: LinearNumbers, seed: int) -> None:
        self.weights = list(weights)
        self.num_games = 0
        self.scores = [0, 0, 0]
        """Wins, draws and losses against the shallow opponent."""
        self.errors: list[float] = []
        self._numbers = numbers
        self._rng = SplitMix(seed)
        self._gradients: tuple[list[list[float]], list[list[float]]] = ([], [])
        """Gradients of the values of each player's after-states since the last cut, oldest first."""
        self._last: list[list[float] | None] = [None, None]

    def play(self) -> None:
        """Play a game and learn from it."""
        numbers, rng = self._numbers, self._rng
        has_rival, rival = rng.happens(numbers.rival), rng.draw(2)
        num_random = rng.num_random_plies(numbers.opening)
        self._gradients, self._last = ([], []), [None, None]
        state = _GAME.initial_state()
        while not state.is_terminal:
            if len(state.history) < num_random:
                action = rng.action(state)
            elif has_rival and state.current_player == rival:
                action = self._shallow(state)
            else:
                action = self._move(state)
            state = state.child(action)
        for player in (0, 1):
            self._learn(player, state.returns[player])
        self.num_games += 1
        if has_rival:
            self.scores[1 - round(state.returns[1 - rival])] += 1

    def _move(self, state: KInARowState) -> int:
        numbers, rng, player = self._numbers, self._rng, state.current_player
        children = {action: state.child(action) for action in state.legal_actions}
        wins = [action for action, child in children.items() if child.returns[player] > 0]
        explores = rng.happens(numbers.epsilon)
        if wins and not explores:
            return wins[0]
        blocks = _threatened(state) if numbers.rules else []
        worth = {
            action: 0.0 if 0 not in children[action].cells else self._value(_features(children[action]))
            for action in blocks or children
        }
        action = rng.best(worth)
        # delta = r + gamma V(next) - V(last), where a win ends the game: r = 1 and V(next) = 0.
        self._learn(player, 1.0 if wins else numbers.gamma * worth[action])
        if explores:
            self._gradients[player].clear()
            action = rng.action(state)
        features = _features(children[action])
        slope = 1 - self._value(features) ** 2 if numbers.squashed else 1.0
        self._gradients[player].append([slope * feature for feature in features])
        self._last[player] = features
        return action

    def _learn(self, player: int, target: float) -> None:
        features = self._last[player]
        if features is None:
            return
        error = target - self._value(features)
        for age, gradient in enumerate(reversed(self._gradients[player])):
            decay = (self._numbers.gamma * self._numbers.trace) ** age
            for number, slope in enumerate(gradient):
                self.weights[number] += self._numbers.alpha * error * decay * slope
        self.errors.append(abs(error))

    def _value(self, features: list[float]) -> float:
        total = sum(map(float.__mul__, self.weights, features))
        return math.tanh(total) if self._numbers.squashed else total

    def _shallow(self, state: KInARowState) -> int:
        # Not learning, and compared with the plain rules by a test of its own.
        chance = np.array([self._rng.word], np.uint64)
        action = int(choose_shallow(*words_of(state), _LAYOUT, chance))
        self._rng.word = int(chance[0])
        return action


def _features(state: KInARowState) -> list[float]:
    """Return the 87 features of an after-state for the player who has just moved."""
    own = 2 - state.current_player
    rows = [state.cells[start : start + COLUMNS] for start in range(0, len(state.cells), COLUMNS)][::-1]
    stones = [[float(cell == stone) for row in rows for cell in row] for stone in (own, 3 - own)]
    middle = sum(row[COLUMNS // 2] == own for row in rows) / ROWS
    shown = [{state.cells[cell] for cell in line} - {0} for line in _LINES]
    return [*stones[0], *stones[1], middle, shown.count({own}) / 50, shown.count({3 - own}) / 50]


def _threatened(state: KInARowState) -> list[int]:
    """Return the actions on cells where the opponent would complete a line."""
    found: list[int] = []
    for action in state.legal_actions:
        cell = next(c for c, stone in enumerate(state.child(action).cells) if stone != state.cells[c])
        others = [{state.cells[c] for c in line if c != cell} for line in _LINES if cell in line]
        if {2 - state.current_player} in others:
            found.append(action)
    return found


class TupleRates(NamedTuple):
    """Parameters of the learner of n-tuples, in the order of the kernel."""

    alpha: float = 0.05
    epsilon: float = 0.2
    trace: float = 0.8
    opening: float = 0.5
    alone: float = 0.0


class PlainTuples:
    """Tables of n-tuples, updated towards the lambda-return when a game is over.

    `weights`, `sums` and `sizes` have the shape `[2, entries]`.
    """

    def __init__(
        self, parts: Parts, weights: Sequence[Sequence[float]], rates: TupleRates, seed: int
    ) -> None:
        self.weights = [list(table) for table in weights]
        self.sums = [[0.0] * len(table) for table in weights]
        self.sizes = [[0.0] * len(table) for table in weights]
        self.outcomes = [0, 0, 0]
        """Wins of the first player, draws, wins of the second."""
        self.num_plies = 0
        self.errors: list[float] = []
        self._parts = parts.parts
        self._rates = TupleRates(*(float(np.float32(rate)) for rate in rates))
        self._rng = SplitMix(seed)

    def play(self) -> None:
        """Play a game, then learn from it."""
        rates, rng = self._rates, self._rng
        num_random = rng.num_random_plies(rates.opening)
        follower = None
        if rates.alone:
            is_alone, player = rng.happens(rates.alone), rng.draw(2)
            follower = player if is_alone else None
        states = [_GAME.initial_state()]
        instead: dict[int, float] = {}
        """Value of the best after-state at each ply with an exploratory action."""
        while not states[-1].is_terminal:
            state = states[-1]
            action = rng.action(state)
            if len(states) > num_random:
                worth = {each: self._worth(state, each) for each in state.legal_actions}
                best = rng.best(worth)
                if not rng.happens(rates.epsilon) or state.current_player == follower:
                    action = best
                elif action != best:
                    instead[len(states) - 1] = math.tanh(worth[best]) * (1, -1)[state.current_player]
            states.append(state.child(action))
        self.outcomes[1 - round(states[-1].returns[0])] += 1
        self.num_plies += len(states) - 1
        self._learn(states, max(num_random, 1), instead)

    def _worth(self, state: KInARowState, action: int) -> float:
        child, player = state.child(action), state.current_player
        if child.is_terminal:
            return 1e9 * child.returns[player]
        return self._total(child) * (1, -1)[player]

    def _learn(self, states: Sequence[KInARowState], start: int, instead: dict[int, float]) -> None:
        """Update the values from the last position back to `start`.

        The lambda-return is (1 - lambda) sum of lambda^(k-1) V(k plies later) + lambda^n z over the n later
        positions; z is the outcome, or the best value where an exploratory action cuts the game.
        """
        trace = self._rates.trace
        end, later = states[-1].returns[0], list[float]()
        for ply in range(len(states) - 2, start - 1, -1):
            if ply in instead:
                end, later = instead[ply], []
            terms = [(1 - trace) * trace**age * value for age, value in enumerate(later)]
            target = sum(terms) + trace ** len(later) * end
            value = math.tanh(self._total(states[ply]))
            later.insert(0, value)
            self.errors.append(abs(target - value))
            self._update(states[ply], (target - value) * (1 - value**2))

    def _update(self, state: KInARowState, change: float) -> None:
        side = len(state.history) % 2
        weights, sums, sizes = self.weights[side], self.sums[side], self.sizes[side]
        for entry in self._entries(state):
            # Temporal coherence: Bagheri, Thill, Koch and Konen (2016), with a parabola as transfer function.
            coherence = abs(sums[entry]) / sizes[entry] if sizes[entry] else 1.0
            weights[entry] += self._rates.alpha * change * (1 / 15 + 14 / 15 * coherence**2)
            sums[entry] += change
            sizes[entry] += abs(change)

    def _total(self, state: KInARowState) -> float:
        table = self.weights[len(state.history) % 2]
        return sum(table[entry] for entry in self._entries(state))

    def _entries(self, state: KInARowState) -> list[int]:
        first, second = (state.opp, state.own) if state.current_player else (state.own, state.opp)
        return cast("list[int]", self._parts[np.arange(COLUMNS), keys_of(first, second)].sum(axis=0).tolist())

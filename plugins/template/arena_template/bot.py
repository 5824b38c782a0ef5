"""A bot that looks one move ahead for both sides and otherwise prefers the centre."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

from typing_extensions import override

from arena_plugins import Bot, Game, Limit, OptionReader, PlayResult, State, hookimpl

if TYPE_CHECKING:
    from collections.abc import Mapping


class CentreBot(Bot):
    """Takes an immediate win, avoids moves that let the opponent win, then plays near the centre."""

    deterministic = True
    """The same seed, states and node limits give the same actions; the arena checks it."""

    def __init__(self, game: Game, seed: int, *, careful: bool) -> None:
        self._rows, self._columns = game.shape
        self._careful = careful
        self._random = random.Random(seed)  # noqa: S311 - used for play, not for secrets

    def new_match(self, seed: int) -> None:
        """Begin a match as a new bot would; with this method the arena reuses one bot for many matches."""
        self._random.seed(seed)

    @override
    def play(self, state: State, limit: Limit) -> PlayResult:
        budget = _Budget(limit)
        children = self._by_centre(state, budget)
        mover = state.current_player
        for action, child in children.items():
            if child.returns[mover] > 0:
                return PlayResult(action, value=1.0, pv=(action,), nodes=budget.used, text="that wins")
        for action, child in children.items() if self._careful else ():
            if not _can_win(child, budget):
                return PlayResult(action, nodes=budget.used)
        return PlayResult(next(iter(children)), nodes=budget.used)

    def _by_centre(self, state: State, budget: _Budget) -> dict[int, State]:
        actions = list(state.legal_actions)
        self._random.shuffle(actions)  # actions of equal distance come in random order
        children: dict[int, State] = {}
        for action in actions:
            if children and budget.is_spent():
                break
            children[action] = state.child(action)
        return dict(sorted(children.items(), key=lambda item: self._distance(state, item[1])))

    def _distance(self, state: State, child: State) -> float:
        changed = [i for i, (a, b) in enumerate(zip(state.cells, child.cells, strict=True)) if a != b]
        row, column = divmod(changed[0], self._columns) if changed else (0, 0)
        return abs(row - (self._rows - 1) / 2) + abs(column - (self._columns - 1) / 2)


class _Budget:
    """Counts nodes and checks the clock for one answer."""

    def __init__(self, limit: Limit) -> None:
        self.used = 0
        self._nodes = limit.nodes
        # A tenth of the time is left for sending the answer.
        self._deadline = None if limit.seconds is None else time.monotonic() + 0.9 * limit.seconds

    def is_spent(self) -> bool:
        """Count one more node, unless the limit is reached."""
        nodes_spent = self._nodes is not None and self.used >= self._nodes
        if nodes_spent or (self._deadline is not None and time.monotonic() >= self._deadline):
            return True
        self.used += 1
        return False


def _can_win(state: State, budget: _Budget) -> bool:
    """Return whether the side to move can win at once; False once the budget is spent."""
    for action in state.legal_actions:
        if budget.is_spent():
            return False
        if state.child(action).returns[state.current_player] > 0:
            return True
    return False


@hookimpl
def make_bot(game: Game, seed: int, options: Mapping[str, str]) -> CentreBot:
    """Make the bot; its option `careful=on|off` says whether it considers the opponent's replies."""
    reader = OptionReader("template", options)
    careful = reader.flag("careful", default=True)
    reader.done()
    return CentreBot(game, seed, careful=careful)

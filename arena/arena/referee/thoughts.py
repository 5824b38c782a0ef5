"""Validates what a bot reports about a position; invalid fields are dropped."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeVar

from arena_plugins.text import clean_text
from arena_plugins.thoughts import UNSAID, Thoughts
from arena_plugins.wire import MAX_TEXT, Action

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from arena_plugins.contract import Game, State
    from arena_plugins.wire import Info

_Given = TypeVar("_Given")
_Kept = TypeVar("_Kept")
_Number = TypeVar("_Number", int, float)
Pairs = tuple[tuple[int, _Number], ...]

_SUM_TOLERANCE = 1e-3
"""Maximum distance of a policy's sum from 1."""
_MAX_COUNT = 1 << 63
"""Counts must be below 2^63 to fit into a signed 64-bit integer of the store."""
_NO_ACTION = Action(id="", action=0)


def read_remark(info: Info, state: State, game: Game) -> Thoughts:
    """Return the valid fields of an `info` from a bot that is still thinking."""
    return read_thoughts(_NO_ACTION, info, state, game)


def read_thoughts(action: Action, info: Info | None, state: State, game: Game) -> Thoughts:
    """Return the valid fields of an answer and of the last `info` before it; the answer takes precedence."""
    if info is None and action.value is None and action.policy is None and action.visits is None:
        return UNSAID
    checker = _Checker(state, game)
    value = checker.keep(action.value, checker.value)
    policy = checker.keep(action.policy, checker.policy)
    visits = checker.keep(action.visits, checker.visits)
    if info is None:
        return Thoughts(value=value, policy=policy, visits=visits)
    if value is None:
        value = checker.keep(info.value, checker.value)
    if value is None:
        value = checker.keep(info.wdl, checker.wdl)
    return Thoughts(
        value=value,
        policy=checker.keep(info.policy, checker.policy) if policy is None else policy,
        visits=checker.keep(info.visits, checker.visits) if visits is None else visits,
        pv=checker.keep(info.pv, checker.pv),
        nodes=checker.keep(info.nodes, checker.count),
        depth=checker.keep(info.depth, checker.count),
        text=None if info.text is None else clean_text(info.text, MAX_TEXT),
    )


class _Checker:
    """Checks of fields: each returns the field in its final form, or None if it is invalid."""

    def __init__(self, state: State, game: Game) -> None:
        self._game = game
        self._legal = state.legal_actions

    def keep(self, given: _Given | None, check: Callable[[_Given], _Kept | None]) -> _Kept | None:
        return None if given is None else check(given)

    def value(self, value: float) -> float | None:
        return max(-1.0, min(1.0, value)) if math.isfinite(value) else None

    def wdl(self, wdl: tuple[float, float, float]) -> float | None:
        fair = all(0.0 <= p <= 1.0 for p in wdl) and abs(sum(wdl) - 1.0) <= _SUM_TOLERANCE
        return self.value(wdl[0] - wdl[2]) if fair else None

    def policy(self, pairs: Sequence[tuple[int, float]]) -> Pairs[float] | None:
        policy = self._of_legal(pairs)
        if not policy:
            return None
        # With no value below 0 and this sum, no value exceeds 1; NaN fails the test of the sum.
        values = [share for _, share in policy]
        return policy if min(values) >= 0.0 and abs(sum(values) - 1.0) <= _SUM_TOLERANCE else None

    def visits(self, pairs: Sequence[tuple[int, int]]) -> Pairs[int] | None:
        visits = self._of_legal(pairs)
        return visits if visits and all(0 <= n < _MAX_COUNT for _, n in visits) else None

    def pv(self, actions: Sequence[int]) -> tuple[int, ...] | None:
        fair = 0 < len(actions) <= self._game.max_length and actions[0] in self._legal
        return tuple(actions) if fair and _within(actions, self._game.num_actions) else None

    def count(self, number: int) -> int | None:
        return number if 0 <= number < _MAX_COUNT else None

    def _of_legal(self, pairs: Sequence[tuple[int, _Number]]) -> Pairs[_Number] | None:
        if len(pairs) > self._game.num_actions:
            return None
        entries = dict(pairs)
        if len(entries) < len(pairs):
            return None
        # Fast path: most bots report all legal actions in order.
        if tuple(entries) != self._legal and not entries.keys() <= set(self._legal):
            return None
        return tuple(sorted(entries.items()))


def _within(actions: Collection[int], num_actions: int) -> bool:
    return all(0 <= action < num_actions for action in actions)

"""Checks stored matches by the rules of their game."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final

from arena_plugins import Outcome, Termination

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from arena_plugins import Game, State

OUTCOMES: Final = {1: Outcome.FIRST, 0: Outcome.DRAW, -1: Outcome.SECOND}
"""Outcome by the sign of the difference of the players' returns."""


def replay(game: Game, actions: Sequence[int]) -> list[State]:
    """Return the states before and after each action, up to the first illegal action."""
    states = [game.initial_state()]
    for action in actions:
        if action not in states[-1].legal_actions:
            break
        states.append(states[-1].child(action))
    return states


def contradiction(states: Sequence[State], actions: Sequence[int], outcome: str, termination: str) -> str:
    """Return how a match contradicts the rules of its game; empty if it does not.

    Args:
        states: result of `replay` for the actions.
        actions: all actions from the initial state.
        outcome: the stored outcome.
        termination: the stored termination.
    """
    if len(states) <= len(actions):
        ply = len(states) - 1
        return f"action {actions[ply]} at ply {ply + 1} is not legal"
    if termination != Termination.RULES:
        return ""
    if not states[-1].is_terminal:
        return "the game is not over after its last action"
    first, second = states[-1].returns
    right = OUTCOMES[(first > second) - (first < second)]
    return "" if right == outcome else f"its outcome is {right}, not {outcome}"


def contradictions(
    game: Game, matches: Sequence[tuple[Sequence[int], str, str]], *, in_bulk: bool
) -> Iterator[tuple[int, str]]:
    """Yield the index of each match that breaks the rules, and how.

    Args:
        game: the rules.
        matches: actions, outcome and termination of each.
        in_bulk: find them with kernels, if the game has any: loading these takes a second, a match then a
            microsecond.
    """
    for place in _suspects(game, matches) if in_bulk else range(len(matches)):
        actions, outcome, termination = matches[place]
        wrong = contradiction(replay(game, actions), actions, outcome, termination)
        if wrong:
            yield place, wrong


def _suspects(game: Game, matches: Sequence[tuple[Sequence[int], str, str]]) -> Sequence[int]:
    """Return the matches that the plain rules must check: without kernels all of them."""
    # Imported here, because they import numba, which no other command that reads a store needs.
    import numpy as np

    from arena.games.kernels.replay_kernel import BROKEN, OPEN, replayed_ends

    starts = np.zeros(len(matches) + 1, np.int64)
    np.cumsum([len(actions) for actions, _, _ in matches], out=starts[1:])
    flat = np.fromiter(chain.from_iterable(actions for actions, _, _ in matches), np.uint16, starts[-1])
    ends = replayed_ends(game, flat, starts)
    if ends is None:
        return range(len(matches))
    found: list[int] = []
    for place, (end, (_, outcome, termination)) in enumerate(zip(ends.tolist(), matches, strict=True)):
        is_over = end not in {OPEN, BROKEN}
        # A match that ended otherwise (by forfeit, on time) may end anywhere and have any outcome: as in
        # `contradiction`, only its actions must be legal.
        by_rules = termination == Termination.RULES
        if end == BROKEN or (by_rules and not (is_over and OUTCOMES[end] == outcome)):
            found.append(place)
    return found

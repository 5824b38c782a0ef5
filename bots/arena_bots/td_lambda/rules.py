"""The rules that take precedence over the value function: win, block, and the notebook's double two."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.games.k_in_a_row import KInARowState

RULES = ("off", "on", "notebook")
_DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))


def urgent(state: KInARowState, rules: str) -> Sequence[int]:
    """Return the actions that the rules allow; empty if they leave the choice free.

    Wins are not part of the rules, because a terminal state needs no evaluation.
    """
    if rules == "off":
        return ()
    if blocks := [action for action in state.legal_actions if _would_win(state, action)]:
        return blocks
    if rules == "notebook":
        return [action for action in state.legal_actions if _parts_two(state, action)]
    return ()


def _landing(state: KInARowState, action: int) -> int:
    board = state.game.board
    return ((state.own | state.opp) + board.lows[action]) & board.columns[action]


def _would_win(state: KInARowState, action: int) -> bool:
    """Return whether the opponent would win on the cell where the stone of `action` lands."""
    return state.game.board.has_line(state.opp | _landing(state, action))


def _parts_two(state: KInARowState, action: int) -> bool:
    """Return whether an opponent's stone there would make a run of exactly two with both ends empty.

    Source: the TD(lambda) notebook's third rule. Vertical runs never have both ends empty.
    """
    rows, columns = state.game.shape
    other = 2 - state.current_player
    height = sum(state.cells[row * columns + action] != 0 for row in range(rows))
    row = rows - 1 - height

    def at(n: int, down: int, right: int) -> int | None:
        """Return the content of the cell n steps away; None off the board."""
        y, x = row + n * down, action + n * right
        return state.cells[y * columns + x] if 0 <= y < rows and 0 <= x < columns else None

    for down, right in _DIRECTIONS:
        for side in (1, -1):
            near, end, far_end = (at(n * side, down, right) for n in (1, 2, -1))
            if near == other and end == 0 and far_end == 0:
                return True
    return False

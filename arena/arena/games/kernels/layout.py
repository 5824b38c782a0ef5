"""What kernels know of a game: the bitboard of a k-in-a-row game that fits a word of 64 bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena.games.k_in_a_row import KInARow, KInARowState

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arena.games.bitboard import Bitboard
    from arena_plugins.contract import Game, State

WORD = 64
"""Bits of the unsigned ints that kernels compute with; the last one is never a cell."""


class Layout(NamedTuple):
    """A k-in-a-row game in words of 64 bits, laid out as `arena.games.bitboard` says; bit 63 is no cell."""

    num_actions: int
    """Actions are the ints from 0."""
    max_length: int
    """Actions of the longest match: the number of cells."""
    min_length: int
    """No match is won in fewer actions."""
    k: int
    """Stones in a line that win, at least 2."""
    exact: bool
    """Whether a longer row does not win."""
    gravity: bool
    """Whether stones drop; else each action is a cell."""
    lows: NDArray[np.uint64]
    """Lowest cell of each action's column, one bit; `[num_actions]`."""
    columns: NDArray[np.uint64]
    """All cells of each action's column; without gravity one; `[num_actions]`."""
    actions: NDArray[np.int64]
    """Action that fills the cell of a bit number, -1 where no cell is; `[64]`."""
    closing: np.uint64
    """The cells that fill their column: a stone there takes its action out of the legal ones."""
    full: np.uint64
    """All cells."""
    bottom: np.uint64
    """The lowest cells of all columns: with gravity a row, else all cells."""
    steps: tuple[np.uint64, np.uint64, np.uint64, np.uint64]
    """Bits from a cell to the next along each direction; where no line fits, those of another direction.

    So k - 1 steps are less than 63 bits.
    """
    offsets: tuple[np.uint64, ...]
    """Steps from the first cell of a line to each of its k cells: 0, 1, ..., k - 1.

    The length of a tuple is known when kernels are compiled: there is fast code for each k.
    """


def rules_of(game: Game) -> KInARow | None:
    """Give `game` if it is k in a row by the plain rules, which are those of the kernels; else None."""
    if not isinstance(game, KInARow):
        return None
    state = game.initial_state()
    is_plain = type(state) is KInARowState and not any(state.cells)
    # A single stone would be a line: kernels look for a second.
    return game if is_plain and game.board.k > 1 else None


def layout_of(game: Game) -> Layout | None:
    """Give the layout of `game`; None if it is another kind of game, or too large for words of 64 bits."""
    rules = rules_of(game)
    if rules is None or max(rules.board.bits) >= WORD - 1:
        return None
    board = rules.board
    columns = board.columns
    actions = np.full(WORD, -1, np.int64)
    for action, column in enumerate(columns):
        actions[[bit for bit in range(WORD) if column >> bit & 1]] = action
    gravity = board.lows != columns
    return Layout(
        num_actions=game.num_actions,
        max_length=game.max_length,
        min_length=2 * board.k - 1,
        k=board.k,
        exact=board.exact,
        gravity=gravity,
        lows=np.array(board.lows, np.uint64),
        columns=np.array(columns, np.uint64),
        actions=actions,
        closing=np.uint64(board.closing),
        full=np.uint64(sum(columns)),
        bottom=np.uint64(sum(board.lows)),
        steps=_steps(board, lane=board.rows if gravity else board.cols),
        offsets=tuple(map(np.uint64, range(board.k))),
    )


def words_of(state: State) -> tuple[np.uint64, np.uint64]:
    """Give the stones of the side to move and of the other in `state`, of a game that has a layout.

    Raises:
        TypeError: `state` is of another kind of game.
    """
    if not isinstance(state, KInARowState):
        raise TypeError(f"a state of k in a row is needed, not one of type {type(state).__name__}")
    return np.uint64(state.own), np.uint64(state.opp)


def _steps(board: Bitboard, *, lane: int) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Give the four steps; `lane` is the number of cells in a lane."""
    k, stride = board.k, board.stride
    lanes = board.rows * board.cols // lane
    # Where no line fits, another direction stands in: one of the first two has room for k.
    some = 1 if lane >= k else stride
    has_diagonals = min(lane, lanes) >= k
    diagonals = (stride - 1, stride + 1) if has_diagonals else (some, some)
    level = stride if lanes >= k else some
    return np.uint64(some), np.uint64(diagonals[0]), np.uint64(level), np.uint64(diagonals[1])

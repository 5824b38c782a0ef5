"""The form in which kernels see a k-in-a-row game whose bitboard fits into a 64-bit word."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena.games.k_in_a_row import KInARow, KInARowState

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arena.games.bitboard import Bitboard
    from arena_plugins.contract import Game, State

WORD = 64
"""Bits of the unsigned ints that kernels compute with; the highest bit is never a cell."""


class Layout(NamedTuple):
    """A k-in-a-row game in 64-bit words, laid out as in `arena.games.bitboard`; bit 63 is never a cell."""

    num_actions: int
    """Actions are the ints in `[0, num_actions)`."""
    max_length: int
    """Length in actions of the longest match, which is the number of cells."""
    min_length: int
    """Length in actions of the shortest possible win."""
    k: int
    """Number of stones in a row that win, at least 2."""
    exact: bool
    """Whether a row longer than k does not win."""
    gravity: bool
    """Whether stones drop; otherwise each action is a cell."""
    lows: NDArray[np.uint64]
    """Lowest cell of each action's column, as a word with one bit; `[num_actions]`."""
    columns: NDArray[np.uint64]
    """All cells of each action's column, which is one cell without gravity; `[num_actions]`."""
    actions: NDArray[np.int64]
    """The action that fills the cell of each bit number, -1 for bits that are no cell; `[64]`."""
    closing: np.uint64
    """The topmost cell of each column; a stone there fills the column, so its action becomes illegal."""
    full: np.uint64
    """All cells."""
    bottom: np.uint64
    """The lowest cell of each column: with gravity the bottom row, otherwise all cells."""
    steps: tuple[np.uint64, np.uint64, np.uint64, np.uint64]
    """Distance in bits between neighbours in each of the four directions.

    A direction too short for a line holds the step of another one, so k - 1 steps are less than 63 bits.
    """
    offsets: tuple[np.uint64, ...]
    """Steps from the first cell of a line to each of its k cells: 0, 1, ..., k - 1.

    It is a tuple because numba knows the length of a tuple at compile time and unrolls loops over it.
    """


def rules_of(game: Game) -> KInARow | None:
    """Return `game` if it is a k-in-a-row game with the plain rules, which kernels implement; else None."""
    if not isinstance(game, KInARow):
        return None
    state = game.initial_state()
    is_plain = type(state) is KInARowState and not any(state.cells)
    # With k = 1 every stone is a line, but the kernels assume at least two stones.
    return game if is_plain and game.board.k > 1 else None


def layout_of(game: Game) -> Layout | None:
    """Return the layout of `game`, or None if it is another kind of game or does not fit into 64 bits."""
    rules = rules_of(game)
    # Bit 63 stays free: the largest possible shift must move every stone off the board, see `_LAST` in
    # `rules`.
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
        # The first player's k-th stone, after k - 1 of the second player.
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
    """Return the stones of the side to move and of the other side in a k-in-a-row state.

    Raises:
        TypeError: `state` belongs to another kind of game.
    """
    if not isinstance(state, KInARowState):
        raise TypeError(f"a state of k in a row is needed, not one of type {type(state).__name__}")
    return np.uint64(state.own), np.uint64(state.opp)


def _steps(board: Bitboard, *, lane: int) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Return the four steps in bits; `lane` is the number of cells in a lane."""
    k, stride = board.k, board.stride
    lanes = board.rows * board.cols // lane
    # A direction too short for a line is replaced by another; one of the first two has room for k.
    some = 1 if lane >= k else stride
    has_diagonals = min(lane, lanes) >= k
    diagonals = (stride - 1, stride + 1) if has_diagonals else (some, some)
    level = stride if lanes >= k else some
    return np.uint64(some), np.uint64(diagonals[0]), np.uint64(level), np.uint64(diagonals[1])

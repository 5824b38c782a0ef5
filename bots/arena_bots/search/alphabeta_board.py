"""Boards of k in a row for compiled alpha-beta, of any size, with incrementally updated gains of moves."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena.games.k_in_a_row import KInARow, KInARowState
from arena.games.kernels.compiling import inline_kernel, kernel
from arena_bots.search.lines import OpenLines

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arena_plugins.contract import Game

BIG = 1 << 24
"""Added to the gain of a stone for each window of k cells that it fills."""
LINE = BIG // 2
"""A stone with at least this gain fills a window; all other contributions together are smaller."""
WON = 1 << 30
"""Score of a position that is won now; each ply until the win subtracts one."""
WORTH, KEY = range(2)
"""Indices in `AlphaBetaBoard.sums`."""
_HALF = 32
"""Bits of one player's gain in a word of `gains`."""
_LOW = (1 << _HALF) - 1
_MAX_K = 10
"""For longer lines gains could reach `LINE`: up to 4^(k - 2) per window, k windows in four directions."""
_SEED = 4
"""Seed of the random keys; its value does not matter."""


class AlphaBetaGeometry(NamedTuple):
    """The constants of a board. Cells are numbered as in `State.cells`; windows are k cells in a line."""

    rows: int
    """Number of rows."""
    columns: int
    """Number of columns."""
    k: int
    """Number of stones in a row that win."""
    exact: bool
    """Whether a row longer than k does not win."""
    gravity: bool
    """Whether an action fills a column from below; otherwise it is a cell."""
    reach: NDArray[np.uint16]
    """The windows through each cell: row 0 has their number, each further row one window and its other cells;
    `[cells, 1 + windows through a cell, k]`."""
    changes: NDArray[np.int64]
    """What a stone of each player in a window adds to `AlphaBetaBoard.gains` of its other cells, by the
    window's previous code; `[2, codes]`."""
    keys: NDArray[np.int64]
    """What a stone of each player adds to the key of the position; `[2, cells]`."""


class AlphaBetaBoard(NamedTuple):
    """A position, in arrays that `put` and `lift` update."""

    codes: NDArray[np.uint8]
    """Stones in each window: player 0's plus k + 1 times player 1's; `[windows]`."""
    gains: NDArray[np.int64]
    """The gain of a stone on each cell: for player 0, plus 2^32 times that for player 1; undefined for
    occupied cells; `[cells]`."""
    landing: NDArray[np.int16]
    """The cell that each action fills next; for illegal actions -1 or -2, by the player of the last stone;
    `[num_actions]`."""
    sums: NDArray[np.int64]
    """The worth for player 0 as in `OpenLines`, and a key that identifies the position; `[2]`."""


def geometry_of(game: Game) -> AlphaBetaGeometry | None:
    """Return the constants of a game's board; None if it is not k in a row or k is too large for kernels."""
    if not isinstance(game, KInARow) or type(game.initial_state()) is not KInARowState:
        return None
    board = game.board
    gravity = board.lows != board.columns
    bound = OpenLines(game.shape, board.k).bound
    if not 1 < board.k <= _MAX_K or bound >= WON // 2 or (board.exact and gravity):
        return None
    return AlphaBetaGeometry(
        board.rows,
        board.cols,
        board.k,
        exact=board.exact,
        gravity=gravity,
        reach=_reach(board.rows, board.cols, board.k),
        changes=_changes(board.k),
        keys=_keys(board.rows, board.cols, gravity=gravity),
    )


def empty_board(geometry: AlphaBetaGeometry) -> AlphaBetaBoard:
    """Return the position before the first action."""
    num_cells = geometry.rows * geometry.columns
    through = geometry.reach[:, 0, 0].astype(np.int64)
    # Both players' gains share one 64-bit word, 32 bits each, so one addition updates both.
    each = _gain(geometry.k, 0, 0)
    return AlphaBetaBoard(
        codes=np.zeros(int(geometry.reach[:, 1:, 0].max()) + 1, np.uint8),
        gains=through * (each + (each << _HALF)),
        landing=np.arange(num_cells - geometry.columns if geometry.gravity else 0, num_cells, dtype=np.int16),
        sums=np.zeros(2, np.int64),
    )


def _reach(rows: int, columns: int, k: int) -> NDArray[np.uint16]:
    windows = [
        [(row + down * step) * columns + column + right * step for step in range(k)]
        for down, right in ((0, 1), (1, 0), (1, 1), (1, -1))
        for row in range(rows - down * (k - 1))
        for column in range(columns)
        if 0 <= column + right * (k - 1) < columns
    ]
    reach = np.zeros((rows * columns, 1 + 4 * k, k), np.uint16)
    for window, cells in enumerate(windows):
        for cell in cells:
            reach[cell, 0, 0] += 1
            reach[cell, reach[cell, 0, 0]] = [window, *(other for other in cells if other != cell)]
    return reach[:, : 1 + int(reach[:, 0, 0].max())].copy()


def _gain(k: int, own: int, other: int) -> int:
    """Return the gain of one more own stone in a window; n < k stones of one player are worth 4^(n - 1)."""
    # A window with stones of both players can no longer become a line.
    if own and other:
        return 0
    worth = [0, *(4**number for number in range(k - 1)), 0]
    if other:
        return worth[other]
    return worth[own + 1] - worth[own] + BIG * (own == k - 1) if own < k else 0


def _changes(k: int) -> NDArray[np.int64]:
    codes = range((k + 1) ** 2)
    stones = [(code % (k + 1), code // (k + 1)) for code in codes]
    pairs = [_gain(k, first, second) + (_gain(k, second, first) << _HALF) for first, second in stones]
    # A full window takes no further stone, so its entries are never read. The difference of two words may
    # borrow from the upper half, but added to the first word it makes the second one again, exactly.
    return np.array(
        [[pairs[min(code + step, codes[-1])] - pairs[code] for code in codes] for step in (1, k + 1)],
        np.int64,
    )


def _keys(rows: int, columns: int, *, gravity: bool) -> NDArray[np.int64]:
    """Return keys whose sums differ for all positions if 63 bits allow that, else random keys.

    With gravity a column is a binary number of player 0's stones, plus one made of all stones; otherwise the
    board is a number in base 3.
    """
    num_cells = rows * columns
    if gravity and columns * (rows + 1) < 64:  # noqa: PLR2004 # bits of a word
        row, column = np.divmod(np.arange(num_cells), columns)
        bits = np.left_shift(1, column * (rows + 1) + rows - 1 - row)
        return np.array([2 * bits, bits], np.int64)
    if 3**num_cells < 1 << 63:
        powers = [3**cell for cell in range(num_cells)]
        return np.array([powers, [2 * power for power in powers]], np.int64)
    # Two positions then share a key with a chance of about 2^-64 a pair.
    return np.random.default_rng(_SEED).integers(-(1 << 63), 1 << 63, (2, num_cells), np.int64)


@inline_kernel
def gain_of(board: AlphaBetaBoard, cell: np.uint64, player: int) -> int:
    """Return the gain of a stone of `player` on `cell`; at least `LINE` if it makes a row of k or more."""
    return (board.gains[cell] >> (_HALF * player)) & _LOW


@inline_kernel
def without_lines(gain: int) -> int:
    """Return the part of a gain that remains if the stone does not win, as in a row that is too long."""
    # Subtract the gain rounded to a multiple of BIG; the mask -BIG keeps the bits from BIG up.
    return gain - ((gain + LINE) & -BIG)


@inline_kernel
def put(geometry: AlphaBetaGeometry, board: AlphaBetaBoard, action: int, player: int) -> None:
    """Play a legal action that does not win, and update the board."""
    cell = np.uint64(board.landing[action])
    gain = without_lines(gain_of(board, cell, player))
    board.sums[WORTH] += -gain if player else gain
    board.sums[KEY] += geometry.keys[player, cell]
    if geometry.gravity and cell >= geometry.columns:
        board.landing[action] -= geometry.columns
    else:
        board.landing[action] = -1 - player
    step = geometry.k + 1 if player else 1
    reach = geometry.reach[cell]
    for index in range(1, reach[0, 0] + 1):
        row = reach[index]
        # A code is below (k + 1)^2, at most 121, so it fits a byte.
        code = board.codes[row[0]]
        board.codes[row[0]] = code + step
        change = geometry.changes[player, code]
        # Nothing changes for a window that stays mixed, so the inner loop is skipped.
        if change:
            for number in range(1, geometry.k):
                board.gains[row[number]] += change


@inline_kernel
def lift(geometry: AlphaBetaGeometry, board: AlphaBetaBoard, action: int, place: int, player: int) -> None:
    """Undo `put` of `action`, which was played on the cell `place`."""
    cell = np.uint64(place)
    step = geometry.k + 1 if player else 1
    reach = geometry.reach[cell]
    for index in range(1, reach[0, 0] + 1):
        row = reach[index]
        # An unsigned index, for which no code is generated that treats negative ones.
        code = np.uint64(board.codes[row[0]] - step)
        board.codes[row[0]] = code
        change = geometry.changes[player, code]
        if change:
            for number in range(1, geometry.k):
                board.gains[row[number]] -= change
    board.landing[action] = place
    # Only now the gain is the one that `put` added, since the windows are as they were then.
    gain = without_lines(gain_of(board, cell, player))
    board.sums[WORTH] -= -gain if player else gain
    board.sums[KEY] -= geometry.keys[player, cell]


@inline_kernel
def is_line(geometry: AlphaBetaGeometry, board: AlphaBetaBoard, place: int, player: int) -> bool:
    """Return whether a stone of `player` on the cell `place`, whose gain is at least `LINE`, wins."""
    if not geometry.exact:
        return True
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
        length = 1
        for way in (1, -1):
            row, column = place // geometry.columns + way * down, place % geometry.columns + way * right
            while (
                0 <= row < geometry.rows
                and 0 <= column < geometry.columns
                and board.landing[row * geometry.columns + column] == -1 - player
            ):
                length += 1
                row, column = row + way * down, column + way * right
        if length == geometry.k:
            return True
    return False


@kernel
def replay(geometry: AlphaBetaGeometry, board: AlphaBetaBoard, actions: NDArray[np.int64]) -> None:
    """Play `actions`, starting from the empty board."""
    for ply in range(len(actions)):
        put(geometry, board, actions[ply], ply & 1)

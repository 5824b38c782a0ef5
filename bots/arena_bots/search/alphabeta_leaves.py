"""The last plies of compiled alpha-beta: leaves are scored by the gains of stones, without playing them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arena.games.kernels.compiling import inline_kernel
from arena_bots.search.alphabeta_board import (
    BIG,
    LINE,
    WON,
    WORTH,
    gain_of,
    is_line,
    lift,
    put,
    without_lines,
)
from arena_bots.search.alphabeta_frames import (
    ACTION_BITS,
    ALPHA,
    CELL,
    INDEX,
    LOST,
    NODES,
    OPEN,
    STONES,
    TRIED,
    WIDE,
    num_empty,
    pick,
    player_at,
    say,
    say_line,
)

if TYPE_CHECKING:
    from arena_bots.search.alphabeta_board import AlphaBetaBoard, AlphaBetaGeometry
    from arena_bots.search.alphabeta_frames import AlphaBetaSearch


@inline_kernel
def peaks(geometry: AlphaBetaGeometry, board: AlphaBetaBoard, player: int) -> tuple[int, int, int]:
    """Return the largest gain of a stone for `player`, for the opponent, and the number of legal actions."""
    own, other, count = 0, 0, 0
    if geometry.gravity:
        for action in range(len(board.landing)):
            if board.landing[action] >= 0:
                cell = np.uint64(board.landing[action])
                own = max(own, gain_of(board, cell, player))
                other = max(other, gain_of(board, cell, 1 - player))
                count += 1
        return own, other, count
    for number in range(len(board.landing)):
        cell = np.uint64(number)
        legal = board.landing[cell] >= 0
        own = max(own, gain_of(board, cell, player) if legal else 0)
        other = max(other, gain_of(board, cell, 1 - player) if legal else 0)
        count += legal
    return own, other, count


@inline_kernel
def best_leaf(geometry: AlphaBetaGeometry, board: AlphaBetaBoard, player: int) -> tuple[int, int]:
    """Return the action with the largest gain, and the gain; a gain of `BIG` means that it wins."""
    chosen, best = -1, -BIG
    for action in range(len(board.landing)):
        place = board.landing[action]
        if place < 0:
            continue
        gain = gain_of(board, np.uint64(place), player)
        if gain >= LINE:
            if is_line(geometry, board, place, player):
                return action, BIG
            gain = without_lines(gain)
        # Of equal gains the first, so that an answer depends on the position alone.
        if gain > best:
            chosen, best = action, gain
    return chosen, best


@inline_kernel
def frontier(
    geometry: AlphaBetaGeometry,
    board: AlphaBetaBoard,
    search: AlphaBetaSearch,
    level: int,
    wide: bool,  # noqa: FBT001 # kernels take no keywords
) -> int:
    """Return the score of a position whose children are leaves; with `wide`, also set the variation."""
    numbers = search.numbers
    player = player_at(search, level)
    gain, _, count = peaks(geometry, board, player)
    numbers[NODES] += count
    if wide or gain >= LINE:
        action, gain = best_leaf(geometry, board, player)
        say(search, level, action)
        if gain == BIG:
            return WON - (level + 1)
    # The last stone fills the board and makes no line: a draw.
    if num_empty(geometry, search, level) == 1:
        return 0
    # A heuristic score, which more depth could change.
    numbers[OPEN] = 1
    return gain + (-board.sums[WORTH] if player else board.sums[WORTH])


@inline_kernel
def are_apart(geometry: AlphaBetaGeometry, place: int, other: int) -> bool:
    """Return whether no window contains both cells."""
    down = abs(place // geometry.columns - other // geometry.columns)
    right = abs(place % geometry.columns - other % geometry.columns)
    # Too far apart for a window of k, or in no common row, column or diagonal.
    return max(down, right) >= geometry.k or (down not in (right, 0) and right != 0)


@inline_kernel
def last_but_one(
    geometry: AlphaBetaGeometry, board: AlphaBetaBoard, search: AlphaBetaSearch, level: int, rival: int
) -> int:
    """Return the score of a position whose grandchildren are leaves; the merit of a move is its own gain.

    Moves that cannot raise the score are not played. The bound for a move is its gain, less the least gain of
    the best reply: zero, or the gain on the cell `rival` (the opponent's best at present), unless both cells
    share a window. `rival` is -1 if a reply may make a line.
    """
    frame, moves = search.frames[level], search.moves[level]
    player = player_at(search, level)
    worth = -board.sums[WORTH] if player else board.sums[WORTH]
    loss = gain_of(board, np.uint64(rival), 1 - player) if rival >= 0 else 0
    # Not valid if a reply fills the board, which scores 0, or makes a row that is too long, which loses
    # points.
    bounded = num_empty(geometry, search, level) > 2 and (rival >= 0 or not geometry.exact)  # noqa: PLR2004 # this move and the reply
    best = LOST
    while pick(search, level):
        action = frame[TRIED]
        frame[CELL] = board.landing[action]
        # Moves that are not played count as well, because selecting them takes as long.
        search.numbers[STONES] += 1
        if bounded:
            most = worth + without_lines(moves[frame[INDEX] - 1] >> ACTION_BITS)
            is_last = most <= frame[ALPHA]
            if rival >= 0 and are_apart(geometry, frame[CELL], rival):
                most -= loss
            if is_last or most <= frame[ALPHA]:
                search.numbers[OPEN] = 1
                best = max(best, most)
                if is_last:
                    break
                continue
        put(geometry, board, action, player)
        search.numbers[NODES] += 1
        value = -frontier(geometry, board, search, level + 1, frame[WIDE] != 0)
        lift(geometry, board, action, frame[CELL], player)
        if value > best:
            best = value
            if value > frame[ALPHA]:
                frame[ALPHA] = value
                if frame[WIDE]:
                    say_line(search, level + 1, level, action)
    return best

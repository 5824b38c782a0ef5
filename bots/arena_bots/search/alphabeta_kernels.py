"""Compiled alpha-beta: principal variation search on arrays, which can pause anywhere and resume later.

It uses arrays in place of recursion, so that it can return to Python to read the clock.
Sources: Marsland and Campbell, 1982 (principal variation search); Schaeffer, 1983 (history heuristic).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arena.games.kernels.compiling import inline_kernel, kernel
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
    ACTION,
    ACTION_BITS,
    ALPHA,
    BEST,
    BETA,
    CELL,
    COUNT,
    FLOOR,
    FULL,
    INDEX,
    LEVEL,
    LOST,
    MAX_NODES,
    NODES,
    OPEN,
    PAUSE,
    PLIES,
    STONES,
    TRIED,
    UNKNOWN,
    WIDE,
    num_empty,
    pick,
    player_at,
    say,
    say_line,
)
from arena_bots.search.alphabeta_leaves import best_leaf, frontier, last_but_one, peaks
from arena_bots.search.alphabeta_table import keep, recall

if TYPE_CHECKING:
    from arena_bots.search.alphabeta_board import AlphaBetaBoard, AlphaBetaGeometry
    from arena_bots.search.alphabeta_frames import AlphaBetaSearch

DONE, PAUSED, SPENT = range(3)
"""Results of `run`: the search is complete, must be resumed, or has exceeded the allowed states."""
SKIPPED = 2 * LOST
"""Score of a root action that is excluded from the search."""

# The merit of a move is (2 own + other gain) * 64 + history. In Connect Four to depths 7 to 10 this visits 8
# % fewer states than own + other gain, and a quarter fewer than without history.
_OWN = 2
_GAIN = 64


@kernel
def glance(geometry: AlphaBetaGeometry, board: AlphaBetaBoard, search: AlphaBetaSearch) -> None:
    """Score each root action by the position after it, which is depth 0."""
    numbers = search.numbers
    root = numbers[LEVEL]
    player = player_at(search, root)
    worth = -board.sums[WORTH] if player else board.sums[WORTH]
    numbers[OPEN] = 0
    for action in range(len(board.landing)):
        place = board.landing[action]
        if place < 0:
            search.scores[action] = SKIPPED
            continue
        numbers[NODES] += 1
        search.lines[len(search.frames) + action, 0] = 1
        search.lines[len(search.frames) + action, 1] = action
        gain = gain_of(board, np.uint64(place), player)
        if gain >= LINE and is_line(geometry, board, place, player):
            search.scores[action] = WON - 1
        elif num_empty(geometry, search, root) == 1:
            search.scores[action] = 0
        else:
            search.scores[action] = worth + without_lines(gain)
            numbers[OPEN] = 1


@kernel
def run(geometry: AlphaBetaGeometry, board: AlphaBetaBoard, search: AlphaBetaSearch) -> int:
    """Continue the search to `numbers[PLIES]` plies until it is complete or must stop; return which."""
    numbers = search.numbers
    level = numbers[LEVEL]
    entering = True
    while True:
        if not entering:
            value = _leave(board, search, level)
        elif numbers[STONES] >= numbers[PAUSE]:
            # Only before a position is entered, where the board agrees with the frames of the levels above.
            numbers[LEVEL] = level
            return PAUSED
        else:
            value = _enter(geometry, board, search, level)
        again = False
        if value != UNKNOWN:
            if numbers[NODES] > numbers[MAX_NODES]:
                return SPENT
            if level == 0:
                return DONE
            level -= 1
            again = _take(geometry, board, search, level, value)
        entering = again or pick(search, level)
        if entering:
            _go_down(geometry, board, search, level, again)
            level += 1


@inline_kernel
def _enter(geometry: AlphaBetaGeometry, board: AlphaBetaBoard, search: AlphaBetaSearch, level: int) -> int:
    """Return the score of the position at `level`, or list its moves and return UNKNOWN."""
    numbers = search.numbers
    plies = numbers[PLIES] - level
    if level == 0:
        _list_root(search, level)
        return UNKNOWN
    numbers[NODES] += 1
    numbers[STONES] += 1
    if plies == 0:
        # No child gets a frame, so the parent's window shows whether the variation is needed.
        return frontier(geometry, board, search, level, search.frames[level - 1][WIDE] != 0)
    player = player_at(search, level)
    # In most positions no gain reaches `LINE`, so neither a win nor a threat needs to be looked for.
    own, other, _ = peaks(geometry, board, player)
    if own >= LINE or other >= LINE or num_empty(geometry, search, level) == 1:
        value = _decide(geometry, board, search, level)
        if value != UNKNOWN:
            return value
    elif plies == 1:
        most = own + (-board.sums[WORTH] if player else board.sums[WORTH])
        # The best stone cannot raise the score above alpha, and the game does not end before the reply.
        if most <= search.frames[level][ALPHA] and num_empty(geometry, search, level) > 2:  # noqa: PLR2004 # this move and the reply
            numbers[OPEN] = 1
            return most
    rival = _list(geometry, board, search, level, other >= LINE)
    if plies == 1:
        return last_but_one(geometry, board, search, level, -1 if other >= LINE else rival)
    return recall(board, search, level, plies)


@inline_kernel
def _decide(geometry: AlphaBetaGeometry, board: AlphaBetaBoard, search: AlphaBetaSearch, level: int) -> int:
    """Return the score if a win, two opposing threats or the last cell decide; otherwise UNKNOWN."""
    numbers = search.numbers
    player = player_at(search, level)
    action, gain = best_leaf(geometry, board, player)
    if gain == BIG:
        numbers[NODES] += 1
        say(search, level, action)
        return WON - (level + 1)
    if num_empty(geometry, search, level) == 1:
        numbers[NODES] += 1
        say(search, level, action)
        return 0
    first, second, threats = _threats(geometry, board, 1 - player)
    if threats > 1:
        # Two threats cannot both be parried, so the opponent wins in two plies.
        numbers[NODES] += 2
        search.lines[level, 0] = 2
        search.lines[level, 1] = first
        search.lines[level, 2] = second
        return level + 2 - WON
    return UNKNOWN


@inline_kernel
def _threats(geometry: AlphaBetaGeometry, board: AlphaBetaBoard, player: int) -> tuple[int, int, int]:
    """Return the last two actions with which `player` would win, and the number of such actions."""
    first, second, count = -1, -1, 0
    for action in range(len(board.landing)):
        place = board.landing[action]
        if place < 0 or gain_of(board, np.uint64(place), player) < LINE:
            continue
        if is_line(geometry, board, place, player):
            first, second = second, action
            count += 1
    return first, second, count


@inline_kernel
def _list(
    geometry: AlphaBetaGeometry,
    board: AlphaBetaBoard,
    search: AlphaBetaSearch,
    level: int,
    threatened: bool,  # noqa: FBT001 # kernels take no keywords
) -> int:
    """List the relevant moves; return the cell where the opponent's gain is largest."""
    moves = search.moves[level]
    player = player_at(search, level)
    inner = search.numbers[PLIES] - level > 1
    count, rival, most = 0, -1, -1
    for action in range(len(board.landing)):
        place = board.landing[action]
        if place < 0:
            continue
        cell = np.uint64(place)
        merit = without_lines(gain_of(board, cell, player))
        other = gain_of(board, cell, 1 - player)
        if other > most:
            rival, most = place, other
        if inner:
            # At the last plies the merit is the gain alone, which `last_but_one` reads as a bound.
            merit = (_OWN * merit + other) * _GAIN + search.history[player, cell]
        if threatened and other >= LINE and is_line(geometry, board, place, 1 - player):
            # A move that does not parry the threat loses at once, so this is the only one listed.
            moves[0] = merit << ACTION_BITS | action
            count = 1
            break
        moves[count] = merit << ACTION_BITS | action
        count += 1
    search.frames[level, COUNT] = count
    _begin(search, level)
    return rival


@inline_kernel
def _begin(search: AlphaBetaSearch, level: int) -> None:
    frame = search.frames[level]
    frame[INDEX] = 0
    frame[FLOOR] = frame[ALPHA]
    frame[BEST] = LOST
    frame[ACTION] = -1
    frame[WIDE] = frame[BETA] - frame[ALPHA] > 1
    search.lines[level, 0] = 0


@inline_kernel
def _list_root(search: AlphaBetaSearch, level: int) -> None:
    """List the root actions that are not excluded, the best ones of the previous depth first."""
    frame, scores = search.frames[level], search.scores
    best, count = SKIPPED, 0
    for action in range(len(scores)):
        best = max(best, scores[action])
    for action in range(len(scores)):
        if scores[action] != SKIPPED:
            # Only the best scores of the previous depth are exact, so those actions come first, before any
            # bound.
            merit = scores[action] + (2 * WON if scores[action] == best else 0)
            search.moves[level, count] = merit << ACTION_BITS | action
            scores[action] = LOST
            count += 1
    frame[ALPHA], frame[BETA], frame[COUNT] = LOST, -LOST, count
    _begin(search, level)


@inline_kernel
def _go_down(
    geometry: AlphaBetaGeometry,
    board: AlphaBetaBoard,
    search: AlphaBetaSearch,
    level: int,
    again: bool,  # noqa: FBT001 # kernels take no keywords
) -> None:
    """Play the move tried at `level`; after the first, with a null window until one proves better."""
    frame, child = search.frames[level], search.frames[level + 1]
    full = again or frame[INDEX] == 1 or frame[BETA] - frame[ALPHA] == 1
    frame[FULL] = full
    frame[CELL] = board.landing[frame[TRIED]]
    child[BETA] = -frame[ALPHA]
    child[ALPHA] = -frame[BETA] if full else -frame[ALPHA] - 1
    put(geometry, board, frame[TRIED], player_at(search, level))


@inline_kernel
def _take(
    geometry: AlphaBetaGeometry, board: AlphaBetaBoard, search: AlphaBetaSearch, level: int, below: int
) -> bool:
    """Undo the move tried at `level` and record its score; return True if it needs the full window."""
    frame = search.frames[level]
    action = frame[TRIED]
    lift(geometry, board, action, frame[CELL], player_at(search, level))
    value = -below
    # Better than expected: the null window gave only a bound, and the exact score is needed.
    if not frame[FULL] and frame[ALPHA] < value < frame[BETA]:
        return True
    if value > frame[BEST]:
        frame[BEST], frame[ACTION] = value, action
    if level == 0:
        search.scores[action] = value
    if value > frame[ALPHA]:
        frame[ALPHA] = value
        if level == 0:
            # The bound is one below the best score, so that an equal action is exact instead of cut off.
            frame[ALPHA] = value - 1
            say_line(search, level + 1, len(search.frames) + action, action)
        elif frame[WIDE]:
            say_line(search, level + 1, level, action)
    return False


@inline_kernel
def _leave(board: AlphaBetaBoard, search: AlphaBetaSearch, level: int) -> int:
    """Return the score of a position whose relevant moves have all been tried, and store it."""
    frame = search.frames[level]
    if level:
        plies = search.numbers[PLIES] - level
        if frame[BEST] >= frame[BETA]:
            # Refutations far from the leaves save more, so they count more (Schaeffer).
            search.history[player_at(search, level), frame[CELL]] += plies * plies
        keep(board, search, level, plies)
    return frame[BEST]

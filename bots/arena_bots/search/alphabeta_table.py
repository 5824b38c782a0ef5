"""The transposition table of compiled alpha-beta: bounds of scores and best actions of earlier positions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arena.games.kernels.compiling import inline_kernel
from arena_bots.search.alphabeta_board import KEY, WON
from arena_bots.search.alphabeta_frames import (
    ACTION,
    ACTION_MASK,
    AGE,
    ALPHA,
    BEST,
    BETA,
    COUNT,
    FLOOR,
    SHIFT,
    UNKNOWN,
    WIDE,
)

if TYPE_CHECKING:
    from arena_bots.search.alphabeta_board import AlphaBetaBoard
    from arena_bots.search.alphabeta_frames import AlphaBetaSearch

MAX_AGE = (1 << 12) - 1
"""Number of searches that the table can tell apart."""

_DECIDED = WON - (1 << 16)
"""Scores above this are wins, below its negative losses."""
_EXACT, _LOWER, _UPPER = range(3)
_SCORE_AT, _PLIES_AT, _BOUND_AT, _ACTION_AT = 32, 24, 22, 12
"""Lowest bits of the parts of an entry; the age is below them."""
_PLIES_MASK, _BOUND_MASK = (1 << 8) - 1, (1 << 2) - 1
"""Plies have 8 bits (an option bounds them to 99), a bound has 2."""
_FIRST = 1 << 60
"""Merit that puts a move before all others."""
_MIX = np.uint64(0x9E37_79B9_7F4A_7C15)
"""2^64 divided by the golden ratio: Fibonacci hashing (Knuth, volume 3, section 6.4)."""


@inline_kernel
def slot_of(board: AlphaBetaBoard, search: AlphaBetaSearch) -> np.uint64:
    """Return the position's index in the table."""
    return (np.uint64(board.sums[KEY]) * _MIX) >> np.uint64(search.numbers[SHIFT])


@inline_kernel
def keep(board: AlphaBetaBoard, search: AlphaBetaSearch, level: int, plies: int) -> None:
    """Store the score of the position at `level`, searched to `plies`, with its best action."""
    frame = search.frames[level]
    score = frame[BEST]
    bound = _EXACT
    if score >= frame[BETA]:
        bound = _LOWER
    elif score <= frame[FLOOR]:
        bound = _UPPER
    # Decided scores are stored relative to this position, because the root may be another one later.
    if score > _DECIDED:
        score += level
    elif score < -_DECIDED:
        score -= level
    slot = slot_of(board, search)
    search.table[slot, 0] = board.sums[KEY]
    search.table[slot, 1] = (
        # From the top: score, 8 bits of plies, 2 of bound, 10 of action plus one (0 for none), 12 of age.
        score << _SCORE_AT
        | plies << _PLIES_AT
        | bound << _BOUND_AT
        | (frame[ACTION] + 1) << _ACTION_AT
        | search.numbers[AGE]
    )


@inline_kernel
def recall(board: AlphaBetaBoard, search: AlphaBetaSearch, level: int, plies: int) -> int:
    """Return the stored score if it suffices, else UNKNOWN; put the stored best action first."""
    frame, moves = search.frames[level], search.moves[level]
    slot = slot_of(board, search)
    entry = search.table[slot, 1]
    # Entries of earlier searches count as empty, so that an answer depends on its position alone.
    if search.table[slot, 0] != board.sums[KEY] or entry & MAX_AGE != search.numbers[AGE]:
        return UNKNOWN
    # With a full window the variation is needed too, which the table does not have.
    if not frame[WIDE]:
        score, bound = entry >> _SCORE_AT, (entry >> _BOUND_AT) & _BOUND_MASK
        known = (entry >> _PLIES_AT) & _PLIES_MASK == plies
        # A position that is decided within fewer plies is also decided within more.
        if score > _DECIDED:
            known = known or bound != _UPPER
            score -= level
        elif score < -_DECIDED:
            known = known or bound != _LOWER
            score += level
        if known and (
            bound == _EXACT
            or (bound == _LOWER and score >= frame[BETA])
            or (bound == _UPPER and score <= frame[ALPHA])
        ):
            return score
    action = ((entry >> _ACTION_AT) & ACTION_MASK) - 1
    for number in range(frame[COUNT]):
        if moves[number] & ACTION_MASK == action:
            moves[number] = _FIRST | action
    return UNKNOWN

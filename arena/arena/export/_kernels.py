"""Kernels for positions of many matches and their canonical images, on 64-bit words; bit `i` is cell `i`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena.games.kernels.compiling import inline_kernel, kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arena.games.kernels.compiling import Int

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_BYTE = np.uint64(255)
_WORD = 64
_BYTES = 8
# Constants of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014,
# figure 16).
_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_SHIFT_1, _SHIFT_2, _SHIFT_3 = np.uint64(30), np.uint64(27), np.uint64(31)


class ReplayRules(NamedTuple):
    """The rules of a k-in-a-row game that a replay needs."""

    rows: int
    cols: int
    gravity: bool
    """Whether stones drop; otherwise each action is a cell."""
    num_actions: int


class ReplayScratch(NamedTuple):
    """Scratch space for one match, because kernels cannot allocate arrays."""

    stones: NDArray[np.uint64]
    """Stones of both players; `[2, words]`."""
    free: NDArray[np.uint64]
    """Legal actions as bits; `[action_words]`."""
    heights: NDArray[np.int64]
    """Number of stones in each action's column; `[num_actions]`."""


@kernel
def replay(
    rules: ReplayRules,
    scratch: ReplayScratch,
    actions: NDArray[np.uint16],
    starts: NDArray[np.int64],
    own: NDArray[np.uint64],
    opp: NDArray[np.uint64],
    legal: NDArray[np.uint64],
) -> int:
    """Write each position in which an action followed; return the first match that breaks the rules, or -1.

    Args:
        rules: the rules of the game.
        scratch: scratch space.
        actions: the actions of all matches, concatenated; `[n]`.
        starts: the index at which each match begins, followed by `n`; `[num_matches + 1]`.
        own: receives the stones of the side to move; `[n, words]`.
        opp: receives the stones of the other side; `[n, words]`.
        legal: receives the legal actions, bit `a` for action `a`; `[n, action_words]`.
    """
    stones, free, heights = scratch
    for match in range(len(starts) - 1):
        stones[:, :] = _ZERO
        heights[:] = 0
        _set_all(free, rules.num_actions)
        player = 0
        for row in range(starts[match], starts[match + 1]):
            for word in range(own.shape[1]):
                own[row, word] = stones[player, word]
                opp[row, word] = stones[1 - player, word]
            for word in range(legal.shape[1]):
                legal[row, word] = free[word]
            action = np.int64(actions[row])
            if action >= rules.num_actions or not _has(free, action):
                return match
            cell = action
            height = heights[action] + 1
            heights[action] = height
            # With gravity the action is a column and the stone lands on its height, counted from the bottom.
            if rules.gravity:
                cell = (rules.rows - height) * rules.cols + action
            # A full column, or any filled cell without gravity, is no longer legal.
            if not rules.gravity or height == rules.rows:
                free[action // _WORD] &= ~(_ONE << np.uint64(action % _WORD))
            stones[player, cell // _WORD] |= _ONE << np.uint64(cell % _WORD)
            player = 1 - player
    return -1


@inline_kernel
def _has(bits: NDArray[np.uint64], index: Int) -> bool:
    return (bits[index // _WORD] >> np.uint64(index % _WORD)) & _ONE != _ZERO


@inline_kernel
def _set_all(bits: NDArray[np.uint64], num: int) -> None:
    bits[:] = _ZERO
    for index in range(num):
        bits[index // _WORD] |= _ONE << np.uint64(index % _WORD)


@kernel
def canonicalise(
    tables: NDArray[np.uint64],
    images: NDArray[np.uint64],
    own: NDArray[np.uint64],
    opp: NDArray[np.uint64],
    player: NDArray[np.int8],
    which: NDArray[np.uint8],
    keys: NDArray[np.uint64],
) -> None:
    """Replace each position by its smallest image, in the order of `arena.games.symmetry.canonical`.

    Args:
        tables: the image of each byte of a board under each symmetry; `[symmetries, bytes, 256, words]`.
        images: scratch space for three boards of two players; `[6, words]`.
        own: stones of the side to move, replaced by those of the image; `[n, words]`.
        opp: stones of the other side, replaced as well; `[n, words]`.
        player: the side to move, 0 or 1; `[n]`.
        which: receives the first symmetry that leads to the image; `[n]`.
        keys: receives a digest of the image and the player; `[n]`.
    """
    given, image, best = images[:2], images[2:4], images[4:]
    # Images are compared by player, not by side to move, because the canonical order is by player.
    for row in range(len(own)):
        first = np.int64(player[row])
        for word in range(own.shape[1]):
            given[first, word] = best[first, word] = own[row, word]
            given[1 - first, word] = best[1 - first, word] = opp[row, word]
        which[row] = 0
        for symmetry in range(1, len(tables)):
            _map(tables[symmetry], given, image)
            if _is_less(image, best):
                which[row] = symmetry
                for word in range(own.shape[1]):
                    best[0, word], best[1, word] = image[0, word], image[1, word]
        for word in range(own.shape[1]):
            own[row, word], opp[row, word] = best[first, word], best[1 - first, word]
        keys[row] = _digest(best, first)


@inline_kernel
def _map(table: NDArray[np.uint64], board: NDArray[np.uint64], image: NDArray[np.uint64]) -> None:
    for side in range(2):
        for word in range(image.shape[1]):
            image[side, word] = _ZERO
        for index in range(len(table)):
            # One table lookup per byte maps eight cells at once.
            byte = (board[side, index // _BYTES] >> np.uint64(8 * (index % _BYTES))) & _BYTE
            if byte != _ZERO:
                for word in range(image.shape[1]):
                    image[side, word] |= table[index, byte, word]


@inline_kernel
def _is_less(image: NDArray[np.uint64], best: NDArray[np.uint64]) -> bool:
    """Return whether an image is smaller, cell by cell: empty, first player's stone, second player's."""
    for word in range(image.shape[1]):
        differing = (image[0, word] ^ best[0, word]) | (image[1, word] ^ best[1, word])
        if differing != _ZERO:
            # The lowest differing bit is the first differing cell, which decides the order.
            cell = differing & (~differing + _ONE)
            return _stone(image, word, cell) < _stone(best, word, cell)
    return False


@inline_kernel
def _stone(board: NDArray[np.uint64], word: Int, cell: np.uint64) -> int:
    if board[0, word] & cell != _ZERO:
        return 1
    return 2 if board[1, word] & cell != _ZERO else 0


@inline_kernel
def _digest(board: NDArray[np.uint64], player: Int) -> np.uint64:
    # A sequential mix: every word is combined with the digest so far, then scrambled by SplitMix64.
    digest = _mix(np.uint64(player) + _STEP)
    for side in range(2):
        for word in range(board.shape[1]):
            digest = _mix((digest ^ board[side, word]) + _STEP)
    return digest


@inline_kernel
def _mix(bits: np.uint64) -> np.uint64:
    bits = (bits ^ (bits >> _SHIFT_1)) * _MIX_1
    bits = (bits ^ (bits >> _SHIFT_2)) * _MIX_2
    return bits ^ (bits >> _SHIFT_3)

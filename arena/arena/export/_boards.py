"""Positions of many matches as bit words, by compiled kernels or, for other games, by the plain rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena.errors import ExportError, IllegalMoveError, InvalidMoveError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from arena_plugins.contract import Game, State

    Words = NDArray[np.uint64]

WORD = 64


class Positions(NamedTuple):
    """All positions in which an action followed, match after match."""

    own: Words
    """Stones of the side to move, bit `i` for cell `i` of the board, row 0 on top; `[n, words]`."""
    opp: Words
    """Stones of the other side; `[n, words]`."""
    legal: Words
    """Legal actions, bit `a` for action `a`; `[n, action_words]`."""
    player: NDArray[np.int8]
    """The side to move, 0 or 1; `[n]`."""


def num_words(bits: int) -> int:
    """Return the number of 64-bit words that hold `bits` bits."""
    return -(-bits // WORD)


def positions_of(
    game: Game, actions: NDArray[np.uint16], starts: NDArray[np.int64], ids: Sequence[int]
) -> Positions:
    """Replay matches and return their positions.

    Args:
        game: the rules.
        actions: the actions of all matches, concatenated; `[n]`.
        starts: the index at which each match begins, followed by `n`; `[num_matches + 1]`.
        ids: the numbers of the matches, for error messages.

    Raises:
        ExportError: a match breaks the rules of the game.
    """
    # Imported here because compiled code is slow to import, and games of plugins do not need it.
    from arena.games.kernels.layout import rules_of

    rows, cols = game.shape
    words = np.zeros((2, len(actions), num_words(rows * cols)), np.uint64)
    legal = np.zeros((len(actions), num_words(game.num_actions)), np.uint64)
    positions = Positions(words[0], words[1], legal, np.zeros(len(actions), np.int8))
    if rules_of(game) is None:
        wrong = _replay_plainly(game, actions, starts, positions)
    else:
        wrong = _replay_compiled(game, actions, starts, positions)
    if wrong >= 0:
        raise ExportError(
            f"match {ids[wrong]} breaks the rules of {game.name}; arena verify {ids[wrong]} shows more"
        )
    return positions


def bits_of(words: Words, num: int) -> NDArray[np.uint8]:
    """Unpack words into bits, 0 or 1; `[n, num]`."""
    # Little-endian, so that the bits of byte `j` are the cells from `8 j` on.
    flat = np.ascontiguousarray(words, "<u8").view(np.uint8)
    return np.unpackbits(flat, axis=1, count=num, bitorder="little")


def words_of(bits: NDArray[np.uint8]) -> Words:
    """Pack bits into words, the inverse of `bits_of`; `[n, num]` to `[n, words]`."""
    packed = np.zeros((len(bits), 8 * num_words(bits.shape[1])), np.uint8)
    short = np.packbits(bits, axis=1, bitorder="little")
    packed[:, : short.shape[1]] = short
    return packed.view("<u8").astype(np.uint64)


def _replay_compiled(
    game: Game, actions: NDArray[np.uint16], starts: NDArray[np.int64], positions: Positions
) -> int:
    from arena.export._kernels import ReplayRules, ReplayScratch, replay

    rows, cols = game.shape
    rules = ReplayRules(rows, cols, game.num_actions != rows * cols, game.num_actions)
    own, opp, legal, player = positions
    scratch = ReplayScratch(
        np.zeros((2, own.shape[1]), np.uint64),
        np.zeros(legal.shape[1], np.uint64),
        np.zeros(game.num_actions, np.int64),
    )
    # The ply within its match, even for the first player.
    player[:] = (np.arange(len(actions)) - np.repeat(starts[:-1], np.diff(starts))) % 2
    return replay(rules, scratch, actions, starts, own, opp, legal)


def _replay_plainly(
    game: Game, actions: NDArray[np.uint16], starts: NDArray[np.int64], positions: Positions
) -> int:
    """Fill in the positions by the game's states; return the first match that breaks the rules, or -1."""
    cells = np.zeros((len(actions), game.shape[0] * game.shape[1]), np.uint8)
    allowed = np.zeros((len(actions), game.num_actions), np.uint8)
    for match in range(len(starts) - 1):
        state: State = game.initial_state()
        for row in range(int(starts[match]), int(starts[match + 1])):
            cells[row] = state.cells
            allowed[row, list(state.legal_actions)] = 1
            positions.player[row] = state.current_player
            try:
                state = state.child(int(actions[row]))
            except (IllegalMoveError, InvalidMoveError):
                return match
    own = positions.player[:, None] + 1
    positions.own[:] = words_of((cells == own).astype(np.uint8))
    positions.opp[:] = words_of((cells == 3 - own).astype(np.uint8))
    positions.legal[:] = words_of(allowed)
    return -1

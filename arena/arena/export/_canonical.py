"""Canonical images of many positions, for any game by its symmetries."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from arena.export._boards import WORD, bits_of, num_words, words_of
from arena.export._kernels import canonicalise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from arena.export._boards import Positions, Words
    from arena_plugins.contract import Symmetry

_BITS = 8


class CanonicalImages(NamedTuple):
    """Canonical images of positions."""

    own: Words
    opp: Words
    symmetry: NDArray[np.uint8]
    """Index of the first symmetry that maps each position to its image; `[n]`."""
    keys: NDArray[np.uint64]
    """A digest of image and side to move, equal for equivalent positions; `[n]`."""


def canonical_of(positions: Positions, symmetries: Sequence[Symmetry]) -> CanonicalImages:
    """Return the canonical images of all positions, as `arena.games.symmetry.canonical` defines them."""
    own, opp = positions.own.copy(), positions.opp.copy()
    which = np.zeros(len(own), np.uint8)
    keys = np.zeros(len(own), np.uint64)
    tables = _tables(tuple(symmetry.cells for symmetry in symmetries))
    images = np.zeros((6, own.shape[1]), np.uint64)
    canonicalise(tables, images, own, opp, positions.player, which, keys)
    return CanonicalImages(own, opp, which, keys)


def turn_actions(
    actions: NDArray[np.int32], symmetry: NDArray[np.uint8], symmetries: Sequence[Symmetry]
) -> NDArray[np.int32]:
    """Return the actions transformed to the images; `[n]`."""
    return _action_maps(symmetries)[symmetry, actions]


def turn_legal(
    legal: Words, symmetry: NDArray[np.uint8], symmetries: Sequence[Symmetry], num_actions: int
) -> Words:
    """Return the legal actions of the images; `[n, action_words]`."""
    turned = legal.copy()
    # Symmetry 0 is the identity, so its rows stay as they are.
    for index in range(1, len(symmetries)):
        rows = np.flatnonzero(symmetry == index)
        bits = np.zeros((len(rows), num_actions), np.uint8)
        bits[:, list(symmetries[index].actions)] = bits_of(legal[rows], num_actions)
        turned[rows] = words_of(bits)
    return turned


def turn_policies(
    policies: NDArray[np.floating[Any]], symmetry: NDArray[np.uint8], symmetries: Sequence[Symmetry]
) -> NDArray[np.floating[Any]]:
    """Return the policies transformed to the images; `[n, num_actions]`."""
    turned = np.empty_like(policies)
    np.put_along_axis(turned, _action_maps(symmetries)[symmetry], policies, axis=1)
    return turned


def _action_maps(symmetries: Sequence[Symmetry]) -> NDArray[np.int32]:
    return np.array([symmetry.actions for symmetry in symmetries], np.int32)


@lru_cache(maxsize=8)
def _tables(symmetries: tuple[tuple[int, ...], ...]) -> NDArray[np.uint64]:
    """Return a table of the image of each byte of a board; `[symmetries, bytes, 256, words]`."""
    num_cells = len(symmetries[0])
    num_bytes = -(-num_cells // _BITS)
    tables = np.zeros((len(symmetries), num_bytes, 1 << _BITS, num_words(num_cells)), np.uint64)
    values = np.arange(1 << _BITS)
    for table, cells in zip(tables, symmetries, strict=True):
        for cell, image in enumerate(cells):
            byte, bit = divmod(cell, _BITS)
            # For every byte value in which this cell is set, set the image of the cell.
            table[byte, values >> bit & 1 == 1, image // WORD] |= np.uint64(1 << image % WORD)
    return tables

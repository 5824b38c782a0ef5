"""The positions of Connect Four by ply, without mirror images, as arrays in a fixed order."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena.games.kernels.compiling import kernel
from arena.games.solver._memory import mirrored
from arena.games.solver._stones import NUM_ACTIONS, has_four, landings

if TYPE_CHECKING:
    from numpy.typing import NDArray


class PlyPositions(NamedTuple):
    """All unfinished positions of a ply by key; of two mirror images, the one with the smaller key."""

    keys: NDArray[np.int64]
    """Values of `canonical_key`; `[positions]`, ascending."""
    own: NDArray[np.int64]
    """Stones of the side to move; `[positions]`."""
    mask: NDArray[np.int64]
    """All stones; `[positions]`."""


def make_layers(plies: int) -> list[PlyPositions]:
    """Return the layers 0 to `plies`; eight of them take a tenth of a second."""
    start = np.zeros(1, np.int64)
    layers = [PlyPositions(start, start, start)]
    while len(layers) <= plies:
        parents = layers[-1]
        # Kernels cannot allocate, so there is room for the largest possible number of children.
        own, mask = np.empty((2, NUM_ACTIONS * len(parents.keys)), np.int64)
        number = _expand(parents.own, parents.mask, own, mask)
        own, mask = own[:number], mask[:number]
        # The key of a position, as in `_memory.key_of`; different move orders reach the same position.
        keys, first = np.unique(own + mask, return_index=True)
        layers.append(PlyPositions(keys, own[first], mask[first]))
    return layers


@kernel
def canonical_key(own: int, mask: int) -> int:
    """Return a key that a position shares with its mirror image only."""
    key = own + mask
    return min(key, mirrored(key))


@kernel
def _expand(
    own: NDArray[np.int64],
    mask: NDArray[np.int64],
    child_own: NDArray[np.int64],
    child_mask: NDArray[np.int64],
) -> int:
    """Write the canonical children that are not over; return their number."""
    number = 0
    for parent in range(len(own)):
        moves = landings(mask[parent])
        while moves:
            stone = moves & -moves
            moves ^= stone
            if has_four(own[parent] | stone):
                continue
            after, opp = mask[parent] | stone, own[parent] ^ mask[parent]
            # Columns are separate fields, so the mirror image of a key is the key of the mirror image.
            if mirrored(opp + after) < opp + after:
                after, opp = mirrored(after), mirrored(opp)
            child_own[number], child_mask[number] = opp, after
            number += 1
    return number

"""Input and output of the network: planes, logits, and a cache of evaluated positions."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from arena.games.kernels.bits import bit_number, num_bits
from arena.games.kernels.compiling import inline_kernel, kernel
from arena.games.kernels.layout import WORD
from arena.games.kernels.rules import land

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arena.games.kernels.compiling import Int
    from arena.games.kernels.layout import Layout
    from arena_bots.search.lockstep.forest import Leaves

PLANES = STONES, WITH_SIDE, WITH_LAST = 2, 3, 4
"""Numbers of planes: stones only; with a plane for the side to move; also with one for the last stone."""
_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_NOTHING = np.uint64(2**64 - 1)
"""Key of an empty entry; no position has a stone on every bit."""
# Odd numbers, so that a product determines its factor: 2^64 divided by the golden ratio, the prime PRIME64_2
# of xxHash, and a third one. They differ, so that exchanged words are not mixed alike.
_MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0xD6E8FEB86659FD93))
_SHIFT = np.uint64(40)
"""Folds the upper 24 bits, which multiplication mixes best, into those that make the index."""


class Net(Protocol):
    """Evaluates positions."""

    planes: int
    """Number of planes, one of PLANES."""

    def __call__(self, planes: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Evaluate boards `[n, planes, rows, columns]` from the view of the side to move.

        Returns:
            Policy logits, either of actions, `[n, num_actions]`, or, in games with gravity, of the cells
            where stones land, `[n, rows * columns]`; and values in [-1, 1], `[n]`.
        """
        ...


class Cells(NamedTuple):
    """The location of a board's cells in 64-bit words."""

    bits: NDArray[np.int64]
    """Bit number of each cell; `[rows * columns]`."""
    places: NDArray[np.int64]
    """Cell of each bit, 0 for bits that are no cell; `[64]`."""


class EvaluationCache(NamedTuple):
    """A cache of the network's evaluations; a new position replaces an old one in its entry."""

    own: NDArray[np.uint64]
    """Stones of the side to move; the next three arrays have the same shape, `[entries]`, a power of two."""
    opp: NDArray[np.uint64]
    last: NDArray[np.uint64]
    worth: NDArray[np.float32]
    logits: NDArray[np.float32]
    """Policy logits; `[entries, num_actions]`."""


def cells_of(bits: tuple[int, ...]) -> Cells:
    """Return the location of cells, given the bit number of each."""
    places = np.zeros(WORD, np.int64)
    places[list(bits)] = np.arange(len(bits))
    return Cells(np.array(bits, np.int64), places)


def new_memory(bits: int, num_actions: int) -> EvaluationCache:
    """Return an empty cache with `2**bits` entries."""
    size = 1 << bits
    return EvaluationCache(
        own=np.full(size, _NOTHING, np.uint64),
        opp=np.zeros(size, np.uint64),
        last=np.zeros(size, np.uint64),
        worth=np.zeros(size, np.float32),
        logits=np.zeros((size, num_actions), np.float32),
    )


def forget(memory: EvaluationCache) -> None:
    """Clear the cache, because the network has changed."""
    memory.own.fill(_NOTHING)


@inline_kernel
def _entry(own: np.uint64, opp: np.uint64, last: np.uint64, memory: EvaluationCache) -> Int:
    # Multiplicative hashing: products carry differences upwards, so the high bits are folded into the index.
    word = own * _MIX[0] ^ opp * _MIX[1] ^ last * _MIX[2]
    return np.int64((word ^ (word >> _SHIFT)) & np.uint64(len(memory.own) - 1))


@inline_kernel
def paint(
    planes: NDArray[np.float32],
    row: Int,
    own: np.uint64,
    opp: np.uint64,
    last: np.uint64,
    cells: Cells,
) -> None:
    """Write one position into `planes[row]`; `planes` is `[n, planes, rows * columns]`."""
    # The first player moves whenever both have the same number of stones.
    side = np.float32(num_bits(own) == num_bits(opp))
    count = planes.shape[1]
    for cell in range(len(cells.bits)):
        bit = np.uint64(cells.bits[cell])
        planes[row, 0, cell] = np.float32(own >> bit & _ONE)
        planes[row, 1, cell] = np.float32(opp >> bit & _ONE)
        if count == WITH_LAST:
            planes[row, 2, cell] = np.float32(last >> bit & _ONE)
        if count >= WITH_SIDE:
            planes[row, count - 1, cell] = side


@kernel
def paint_all(
    planes: NDArray[np.float32],
    own: NDArray[np.uint64],
    opp: NDArray[np.uint64],
    last: NDArray[np.uint64],
    cells: Cells,
) -> None:
    """Write positions, `[n]`, into `planes` as network input."""
    for row in range(len(own)):
        paint(planes, row, own[row], opp[row], last[row], cells)


@kernel
def gather(
    leaves: Leaves,
    memory: EvaluationCache,
    cells: Cells,
    planes: NDArray[np.float32],
    sees_last: bool,  # noqa: FBT001 # kernels take only positional arguments
) -> Int:
    """Evaluate leaves from the cache, and write the others into `planes`; return the number of the others.

    `leaves.places` is set to the row of the batch that evaluates each of them.
    """
    count = 0
    for lane in range(len(leaves.waits)):
        leaves.places[lane] = -1
        if not leaves.waits[lane]:
            continue
        own, opp = leaves.own[lane], leaves.opp[lane]
        last = leaves.last[lane] if sees_last else _ZERO
        entry = _entry(own, opp, last, memory)
        # The whole position is compared: equal hashes must not share an evaluation.
        if memory.own[entry] == own and memory.opp[entry] == opp and memory.last[entry] == last:
            leaves.worth[lane] = memory.worth[entry]
            for action in range(memory.logits.shape[1]):
                leaves.logits[lane, action] = memory.logits[entry, action]
            continue
        # Not in the cache: the position gets the next row of the batch, and `scatter` finds it by `places`.
        paint(planes, count, own, opp, last, cells)
        leaves.places[lane] = count
        count += 1
    return count


@kernel
def scatter(
    leaves: Leaves,
    memory: EvaluationCache,
    layout: Layout,
    cells: Cells,
    logits: NDArray[np.float32],
    worth: NDArray[np.float32],
    sees_last: bool,  # noqa: FBT001 # kernels take only positional arguments
) -> None:
    """Copy the network's evaluations to the leaves that waited for them, and into the cache."""
    by_cell = logits.shape[1] != layout.num_actions
    for lane in range(len(leaves.waits)):
        row = np.int64(leaves.places[lane])
        if row < 0:
            continue
        own, opp = leaves.own[lane], leaves.opp[lane]
        last = leaves.last[lane] if sees_last else _ZERO
        entry = _entry(own, opp, last, memory)
        # A direct-mapped cache: whatever was in the entry is replaced.
        memory.own[entry], memory.opp[entry], memory.last[entry] = own, opp, last
        memory.worth[entry] = leaves.worth[lane] = min(max(worth[row], np.float32(-1)), np.float32(1))
        for action in range(layout.num_actions):
            place = action
            # A network with one logit per cell has it on the cell where the action's stone lands.
            if by_cell:
                stone = land(own | opp, action, layout)
                place = np.int64(cells.places[bit_number(stone)]) if stone else 0
            memory.logits[entry, action] = leaves.logits[lane, action] = logits[row, place]

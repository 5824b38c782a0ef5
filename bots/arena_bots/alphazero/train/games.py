"""Many matches played at once: stones, legal actions, results, and the collected training data."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arena.games.kernels.bits import bit_number, num_bits
from arena.games.kernels.compiling import kernel
from arena.games.kernels.rules import completing, has_line, land, landings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from arena.games.kernels.layout import Layout
    from arena_plugins.training import TrainingMatch

GOING, WON, DRAWN = 0, 1, 2
"""The effect of an action on a match: it continues, its player has won, or it is drawn."""
_ONE = np.uint64(1)


class Lanes(NamedTuple):
    """The matches in progress and the search results at their positions; the complete state of self-play."""

    own: NDArray[np.uint64]
    """Stones of the side to move; the next four arrays have the same shape, `[lanes]`."""
    opp: NDArray[np.uint64]
    last: NDArray[np.uint64]
    """The stone placed last, 0 at the start."""
    ply: NDArray[np.int64]
    mixed: NDArray[np.int64]
    """Ply after the last random action; results say little about positions before it."""
    actions: NDArray[np.int16]
    """Actions played; the next four arrays start with the same axes, `[lanes, max_length]`."""
    searched: NDArray[np.bool_]
    """Whether the position was searched and is used for training."""
    weights: NDArray[np.float32]
    """Weight of its policy in the loss: 0 after a small search."""
    values: NDArray[np.float32]
    """Value by the search, for the side to move."""
    policies: NDArray[np.float16]
    """Policy by the search; `[lanes, max_length, num_actions]`."""


class Samples(NamedTuple):
    """Positions to learn from."""

    own: NDArray[np.uint64]
    """Stones of the side to move; the next two arrays have the same shape, `[n]`."""
    opp: NDArray[np.uint64]
    last: NDArray[np.uint64]
    policies: NDArray[np.float16]
    """Target policies; `[n, num_actions]`."""
    weights: NDArray[np.float32]
    """Weight of each policy in the loss; `[n]`."""
    chances: NDArray[np.float32]
    """Chances of a win, a draw and a loss for the side to move; `[n, 3]`."""


class Harvest(NamedTuple):
    """The outcome of one period of self-play."""

    samples: Samples
    matches: Sequence[TrainingMatch]
    """The matches that ended."""
    asked: int
    """Number of positions that the network evaluated."""


def new_lanes(lanes: int, num_actions: int, max_length: int) -> Lanes:
    """Return newly begun matches."""
    wide = (lanes, max_length)
    return Lanes(
        own=np.zeros(lanes, np.uint64),
        opp=np.zeros(lanes, np.uint64),
        last=np.zeros(lanes, np.uint64),
        ply=np.zeros(lanes, np.int64),
        mixed=np.zeros(lanes, np.int64),
        actions=np.zeros(wide, np.int16),
        searched=np.zeros(wide, np.bool_),
        weights=np.zeros(wide, np.float32),
        values=np.zeros(wide, np.float32),
        policies=np.zeros((*wide, num_actions), np.float16),
    )


def part_of(lanes: Lanes, number: int, count: int) -> Lanes:
    """Return part `number` of `count` equal parts, as views of the arrays."""
    size = len(lanes.own) // count
    return Lanes._make(array[number * size : (number + 1) * size] for array in lanes)


def no_samples(num_actions: int, *, room: int = 0) -> Samples:
    """Return uninitialised samples with space for `room` positions."""
    return Samples(
        own=np.zeros(room, np.uint64),
        opp=np.zeros(room, np.uint64),
        last=np.zeros(room, np.uint64),
        policies=np.zeros((room, num_actions), np.float16),
        weights=np.zeros(room, np.float32),
        chances=np.zeros((room, 3), np.float32),
    )


def gathered(parts: Sequence[Samples]) -> Samples:
    """Concatenate samples; there must be at least one part."""
    return Samples._make(np.concatenate(some) for some in zip(*parts, strict=True))


def joined(parts: Sequence[Harvest]) -> Harvest:
    """Combine the harvests of several self-play players."""
    samples = gathered([part.samples for part in parts])
    matches = [match for part in parts for match in part.matches]
    return Harvest(samples, matches, sum(part.asked for part in parts))


@kernel
def list_lasting(
    own: NDArray[np.uint64], opp: NDArray[np.uint64], layout: Layout, lasting: NDArray[np.bool_]
) -> None:
    """Write which actions are legal and do not end the match; `[lanes, num_actions]`."""
    for lane in range(len(own)):
        for action in range(layout.num_actions):
            # The array is reused, so entries of the previous positions are cleared.
            lasting[lane, action] = False
        occupied = own[lane] | opp[lane]
        cells = landings(occupied, layout) & ~completing(own[lane], layout)
        # With one empty cell left, every action ends the match.
        if layout.max_length - num_bits(occupied) <= 1:
            continue
        while cells:
            lasting[lane, layout.actions[bit_number(cells)]] = True
            cells &= cells - _ONE


@kernel
def place(
    own: NDArray[np.uint64],
    opp: NDArray[np.uint64],
    last: NDArray[np.uint64],
    layout: Layout,
    actions: NDArray[np.int32],
    results: NDArray[np.int8],
) -> None:
    """Play one action per lane, or none if it is negative; write GOING, WON or DRAWN to `results`."""
    for lane in range(len(own)):
        results[lane] = GOING
        if actions[lane] < 0:
            continue
        stone = land(own[lane] | opp[lane], actions[lane], layout)
        mover = own[lane] | stone
        # The other side is to move now, so `own` has its stones.
        own[lane], opp[lane], last[lane] = opp[lane], mover, stone
        if has_line(mover, layout):
            results[lane] = WON
        elif not landings(own[lane] | mover, layout):
            results[lane] = DRAWN


@kernel
def replay(
    actions: NDArray[np.int16],
    lengths: NDArray[np.int64],
    layout: Layout,
    own: NDArray[np.uint64],
    opp: NDArray[np.uint64],
    last: NDArray[np.uint64],
) -> None:
    """Write the position before each action of matches; `[matches, plies]`, with `lengths` `[matches]`."""
    for match in range(len(lengths)):
        mover, other = np.uint64(0), np.uint64(0)
        stone = np.uint64(0)
        for ply in range(lengths[match]):
            own[match, ply], opp[match, ply], last[match, ply] = mover, other, stone
            stone = land(mover | other, actions[match, ply], layout)
            mover, other = other, mover | stone

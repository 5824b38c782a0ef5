"""A random number generator for kernels: SplitMix64, whose state is one 64-bit word."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arena.games.kernels.compiling import inline_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arena.games.kernels.compiling import Int

# The increment (2^64 divided by the golden ratio, made odd) and the mixing constants of SplitMix64.
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FACTORS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))
_HALF = np.uint64(32)


def seeded(seed: int) -> NDArray[np.uint64]:
    """Return a random state for kernels, which they advance in place; `seed` may be any int; `[1]`."""
    return np.array([seed % 2**64], np.uint64)


@inline_kernel
def draw(state: np.uint64, count: Int) -> tuple[np.uint64, Int]:
    """Return the next state and a random int in `[0, count)`.

    Its probabilities deviate from uniform by less than `count` parts in 2^32.
    Source: Steele, Lea, Flood, Fast splittable pseudorandom number generators (2014), figure 17.
    """
    state += _STEP
    word = (state ^ (state >> _SHIFTS[0])) * _FACTORS[0]
    word = (word ^ (word >> _SHIFTS[1])) * _FACTORS[1]
    word ^= word >> _SHIFTS[2]
    # Scaling the upper 32 bits by multiplication avoids the slow division of a modulo.
    return state, np.int64(((word >> _HALF) * np.uint64(count)) >> _HALF)

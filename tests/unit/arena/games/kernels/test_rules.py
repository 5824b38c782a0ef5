"""The kernels of the rules against the plain states, position by position."""

from __future__ import annotations

import numpy as np
import pytest

from arena.games.kernels.bits import bit_number, nth_bit, num_bits, portable_nth_bit
from game_samples import make, seeded
from kernel_checks import check_cells, check_words

SMALL = (
    "connect-four",
    "tic-tac-toe",
    "gomoku:k=4,size=6",
    "gomoku:k=5,size=7",
    "gomoku:exact=on,k=4,size=7",
    "gomoku:exact=on,k=3,size=6",
    "connect-four:cols=10,k=3,rows=4",
    "connect-four:cols=2,k=4,rows=26",
    "connect-four:cols=15,k=5,rows=3",
)
LARGE = ("gomoku", "gomoku:exact=on", "connect-four:cols=12,k=5,rows=10", "gomoku:exact=on,k=3,size=12")


@pytest.mark.parametrize("spec", SMALL)
def test_words_play_by_the_rules(spec: str) -> None:
    assert check_words(make(spec), 5000, seed=1) >= 5000


@pytest.mark.parametrize("spec", [*SMALL, *LARGE])
def test_cells_play_by_the_rules(spec: str) -> None:
    assert check_cells(make(spec), 3000, seed=2) >= 3000


@pytest.mark.parametrize("seed", range(20))
def test_bits_are_counted_and_found(seed: int) -> None:
    rng = seeded(seed)
    for _ in range(50):
        word = rng.getrandbits(64) & rng.getrandbits(64) if seed % 2 else rng.getrandbits(64)
        bits = [bit for bit in range(64) if word >> bit & 1]
        assert num_bits(np.uint64(word)) == len(bits)
        assert bit_number(np.uint64(word)) == (bits[0] if bits else 64)
        for number in rng.sample(range(len(bits)), min(len(bits), 5)):
            assert nth_bit(np.uint64(word), number) == 1 << bits[number]
            assert portable_nth_bit(np.uint64(word), number) == 1 << bits[number]

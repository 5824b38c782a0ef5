from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np
import pytest

from arena.rating.likelihood import FloatArray, probabilities
from arena.rating.model import LOGITS_PER_ELO, PairResult

if TYPE_CHECKING:
    from collections.abc import Callable


def _simulate(strength: FloatArray, matches: int, seed: int) -> list[PairResult]:
    """A round robin drawn from the model: advantage 40 Elo, ln nu -1."""
    rng = np.random.default_rng(seed)
    seats = list(permutations(range(len(strength)), 2))
    first, second = np.array(seats).T
    chances = probabilities((strength[first] - strength[second] + 40) * LOGITS_PER_ELO, -1.0)
    return [
        PairResult(i, j, *rng.multinomial(matches, row).tolist())
        for (i, j), row in zip(seats, chances, strict=True)
    ]


@pytest.fixture
def simulate() -> Callable[[FloatArray, int, int], list[PairResult]]:
    return _simulate

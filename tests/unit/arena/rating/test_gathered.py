"""Sums of matches that are gathered by encounter equal those of all matches at once, with less memory."""

from __future__ import annotations

import tracemalloc
from dataclasses import fields
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest

from arena.errors import ConfigError
from arena.rating.gathered import GatheredMatches
from arena.rating.sums import ClusterSums, MatchArrays, RatedMatch, encounters

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from arena.rating.sums import Encounters, IntArray


def played(num: int, num_bots: int, seed: int = 1) -> list[RatedMatch]:
    """Return pairs and singles of random bots from few openings, with replays among them."""
    rng = np.random.default_rng(seed)
    found: list[RatedMatch] = []
    while len(found) < num:
        one, other = (int(bot) for bot in rng.choice(num_bots, 2, replace=False))
        opening, points = int(rng.integers(6)), rng.integers(0, 3, 2) / 2
        pair = len(found)
        found.append(RatedMatch(one, other, float(points[0]), pair, opening, int(rng.integers(4)) - 2))
        if rng.random() < 0.8:
            moves = int(rng.integers(1 << 62))
            found.append(RatedMatch(other, one, float(points[1]), pair, opening, moves))
    return found


def columns(sums: Encounters) -> list[tuple[str, NDArray[np.generic]]]:
    """Return all numbers of sums, each array with the name of its field."""
    found: list[tuple[str, NDArray[np.generic]]] = []
    for field in fields(sums):
        value = cast("IntArray | ClusterSums | tuple[ClusterSums, ...]", getattr(sums, field.name))
        if isinstance(value, np.ndarray):
            found.append((field.name, value))
        else:
            several = (value,) if isinstance(value, ClusterSums) else value
            found += [(field.name, column) for part in several for column in part.columns]
    return found


@pytest.mark.parametrize("num_bots", [2, 3, 40, 300])
def test_the_same_sums(num_bots: int) -> None:
    matches = played(700, num_bots)
    gathered = GatheredMatches()
    for start in range(0, len(matches), 150):
        gathered.add(matches[start : start + 150])
        known = matches[: start + 150]
        assert len(gathered) == len(known)
        whole = columns(encounters(MatchArrays(known)))
        found = columns(gathered.encounters())
        assert [name for name, _ in found] == [name for name, _ in whole]
        for (name, one), (_, other) in zip(found, whole, strict=True):
            assert np.array_equal(one, other), name


def test_no_match() -> None:
    gathered = GatheredMatches()
    assert len(gathered) == len(gathered.encounters()) == 0
    gathered.add([])
    assert len(gathered) == 0


def test_points_are_checked() -> None:
    with pytest.raises(ConfigError, match="the points of a match are 0"):
        GatheredMatches().add([RatedMatch(0, 1, 0.25, 0, 0, 0)])


def test_little_memory_beside_the_matches() -> None:
    matches = played(30_000, 40)
    gathered = GatheredMatches()
    for start in range(0, len(matches), 2_000):
        gathered.add(matches[start : start + 2_000])
    whole = MatchArrays(matches)

    def peak(work: Callable[[], object]) -> int:
        """Return the bytes of memory that some work takes at its peak, what it returns included."""
        tracemalloc.start()
        try:
            work()
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert 3 * peak(gathered.encounters) < peak(lambda: encounters(whole))

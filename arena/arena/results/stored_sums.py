"""Converts the sums that a store maintains into the input of the rating fit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from arena.rating.sums import NUM_PAIR_CELLS, ClusterSums, Encounters
from arena_db.sums import FIRST_PAIR, FIRST_SINGLE, SCALE, SUMS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arena.rating.sums import FloatArray, IntArray
    from arena_db.sums import EncounterSums

_PLACES = {name: place for place, name in enumerate(SUMS)}
_NUM_RESULTS = 3


def encounters_of(kept: Sequence[EncounterSums], index: Mapping[int | str, int]) -> Encounters:
    """Return the encounters of a field; encounters with other bots are left out.

    Args:
        kept: stored sums of one tournament or of one pool.
        index: index of a seat or a bot in the field.
    """
    own = [each for each in kept if each.low in index and each.high in index]
    low = np.array([index[each.low] for each in own], dtype=np.int64)
    high = np.array([index[each.high] for each in own], dtype=np.int64)
    sums = np.array([each.sums for each in own], dtype=np.float64).reshape(len(own), len(SUMS))
    sums = np.where((low > high)[:, None], _seen_by_other(sums), sums)
    low, high = np.minimum(low, high), np.maximum(low, high)
    order = np.lexsort((high, low))
    return _encounters(low[order], high[order], sums[order])


def lightened(whole: Encounters, part: Encounters, weight: float) -> Encounters:
    """Return encounters in which some of the matches have less weight.

    All sums of these matches are multiplied by `weight`, as if there were proportionally fewer of them.

    Args:
        whole: all matches.
        part: some of them, with the same indices of bots.
        weight: weight of these, above 0 and at most 1.
    """
    own = {
        pair: place for place, pair in enumerate(zip(whole.low.tolist(), whole.high.tolist(), strict=True))
    }
    places = np.array(
        [own[pair] for pair in zip(part.low.tolist(), part.high.tolist(), strict=True)], dtype=np.int64
    )

    def less(values: FloatArray, some: FloatArray) -> FloatArray:
        found = values.copy()
        np.subtract.at(found, places, (1 - weight) * some)
        return found

    def less_of(sums: ClusterSums, some: ClusterSums) -> ClusterSums:
        return ClusterSums(*(less(*both) for both in zip(sums.columns, some.columns, strict=True)))

    changed = {
        name: less(getattr(whole, name), getattr(part, name))
        for name in ("results", "ptnml", "singles", "num_openings", "num_different", "replays", "alike")
    }
    singles = zip(whole.collapsed_singles, part.collapsed_singles, strict=True)
    first, second = (less_of(*both) for both in singles)
    return replace(
        whole,
        **changed,
        openings=less_of(whole.openings, part.openings),
        collapsed=less_of(whole.collapsed, part.collapsed),
        collapsed_singles=(first, second),
    )


def _encounters(low: IntArray, high: IntArray, sums: FloatArray) -> Encounters:
    def column(name: str) -> FloatArray:
        return sums[:, _PLACES[name]]

    def square(name: str, matches: int) -> ClusterSums:
        """Return sums over clusters of `matches` matches each, which count with their mean score."""
        num, points, squares = (
            column(f"{name}_num"),
            column(f"{name}_s") / SCALE,
            column(f"{name}_ss") / SCALE,
        )
        return ClusterSums(num, matches * num, points, matches**2 * num, matches * points, squares)

    # Points are stored in half points, so sums of S are halved and sums of S² divided by 4.
    shape = (len(sums), 2, _NUM_RESULTS)
    half = column("paired_s") / 2, column("paired_ms") / 2, column("paired_ss") / 4
    return Encounters(
        low=low,
        high=high,
        results=sums[:, :FIRST_PAIR].reshape(shape),
        ptnml=sums[:, FIRST_PAIR : FIRST_PAIR + NUM_PAIR_CELLS],
        singles=sums[:, FIRST_SINGLE : FIRST_SINGLE + 2 * _NUM_RESULTS].reshape(shape),
        num_openings=column("num_openings"),
        openings=ClusterSums(
            *(column("paired_num"), column("paired_m"), half[0], column("paired_mm"), half[1], half[2])
        ),
        collapsed=square("both", 2),
        collapsed_singles=(square("only_first", 1), square("only_second", 1)),
        num_different=column("num_different"),
        replays=column("replays"),
        alike=column("alike"),
    )


def _seen_by_other(sums: FloatArray) -> FloatArray:
    """Return the sums from the point of view of the other bot: sides and points are exchanged."""
    seen = sums.copy()
    for first in (0, FIRST_SINGLE):
        cells = slice(first, first + 2 * _NUM_RESULTS)
        seen[:, cells] = sums[:, cells][:, ::-1]
    pairs = slice(FIRST_PAIR, FIRST_PAIR + NUM_PAIR_CELLS)
    seen[:, pairs] = sums[:, pairs][:, ::-1]
    # With S points of M matches in half points, the other bot has 2M - S; the sums of MS and S² follow.
    m, s, mm, ms, ss = (sums[:, _PLACES[f"paired_{name}"]] for name in ("m", "s", "mm", "ms", "ss"))
    seen[:, _PLACES["paired_s"]] = 2 * m - s
    seen[:, _PLACES["paired_ms"]] = 2 * mm - ms
    seen[:, _PLACES["paired_ss"]] = 4 * mm - 4 * ms + ss
    for name, other, matches in (
        ("both", "both", 2),
        ("only_first", "only_second", 1),
        ("only_second", "only_first", 1),
    ):
        num, points, squares = (sums[:, _PLACES[f"{other}_{part}"]] for part in ("num", "s", "ss"))
        most = matches * SCALE
        seen[:, _PLACES[f"{name}_num"]] = num
        seen[:, _PLACES[f"{name}_s"]] = most * num - points
        seen[:, _PLACES[f"{name}_ss"]] = matches * most * num - 2 * matches * points + squares
    return seen

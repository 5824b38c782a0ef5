"""Merges rows of one canonical position, and takes chosen rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from arena.export._blocks import Policies, select_policies
from arena.export._boards import Positions
from arena.export._canonical import turn_actions, turn_legal, turn_policies
from arena.export._source import Rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from arena.export._canonical import Canonical
    from arena_plugins.contract import Symmetry

    Floats = NDArray[np.float32]


def turned(rows: Rows, canonical: Canonical, symmetries: Sequence[Symmetry]) -> Rows:
    """Give rows as they are in their canonical images."""
    positions, policies, which = rows.positions, rows.policies, canonical.symmetry
    num_actions = len(symmetries[0].actions)
    legal = turn_legal(positions.legal, which, symmetries, num_actions)
    return Rows(
        positions=Positions(canonical.own, canonical.opp, legal, positions.player),
        action=turn_actions(rows.action, which, symmetries),
        ply=rows.ply,
        plies_to_end=rows.plies_to_end,
        value=rows.value,
        root_value=rows.root_value,
        solver_value=rows.solver_value,
        count=rows.count,
        match=rows.match,
        policies=Policies(policies.rows, turn_policies(policies.values, which[policies.rows], symmetries)),
    )


def taken(rows: Rows, chosen: NDArray[np.int64]) -> Rows:
    """Give some rows, in the order of `chosen`."""
    own, opp, legal, player = rows.positions
    return Rows(
        positions=Positions(own[chosen], opp[chosen], legal[chosen], player[chosen]),
        action=rows.action[chosen],
        ply=rows.ply[chosen],
        plies_to_end=rows.plies_to_end[chosen],
        value=rows.value[chosen],
        root_value=rows.root_value[chosen],
        solver_value=rows.solver_value[chosen],
        count=rows.count[chosen],
        match=rows.match[chosen],
        policies=select_policies(rows.policies, chosen, len(rows)),
    )


def merged(rows: Rows, keys: NDArray[np.uint64]) -> Rows:
    """Give one row per position: the first one, with count, mean value and mean policy of all of them.

    Args:
        rows: in canonical images.
        keys: equal for equal positions; `[n]`.
    """
    order = np.argsort(keys, kind="stable")
    is_first = _differs(keys[order], *(part[order] for part in _told_by(rows)))
    starts = np.flatnonzero(is_first)
    group = np.empty(len(order), np.int64)
    # In the order in which positions came first, which keeps neighbours of a match together.
    rank = np.argsort(np.argsort(order[starts]))
    group[order] = np.repeat(rank, np.diff(np.append(starts, len(order))))
    first = np.sort(order[starts])
    result = taken(rows, first)
    result.count = _sums(rows.count, group, len(first)).astype(np.int32)
    result.value = (_sums(rows.value, group, len(first)) / np.bincount(group)).astype(np.float32)
    result.root_value = _means(rows.root_value, group, len(first))
    result.solver_value = _means(rows.solver_value, group, len(first))
    result.policies = _mean_policies(rows.policies, group)
    return result


def _told_by(rows: Rows) -> list[NDArray[Any]]:
    """Give what tells positions apart, should two have one key."""
    own, opp, _, player = rows.positions
    return [*own.T, *opp.T, player]


def _differs(*columns: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell which rows differ from the one before; the first does."""
    differs = np.zeros(len(columns[0]), np.bool_)
    differs[:1] = True
    for column in columns:
        differs[1:] |= column[1:] != column[:-1]
    return differs


def _sums(values: NDArray[Any], group: NDArray[np.int64], num: int) -> NDArray[np.float64]:
    return np.bincount(group, values, num).astype(np.float64)


def _means(values: Floats, group: NDArray[np.int64], num: int) -> Floats:
    """Give the mean of what there is in each group; NaN where there is nothing."""
    has = ~np.isnan(values)
    nums = np.bincount(group[has], minlength=num)
    means = np.full(num, np.nan, np.float32)
    np.divide(_sums(values[has], group[has], num), nums, out=means, where=nums > 0, casting="same_kind")
    return means


def _mean_policies(policies: Policies, group: NDArray[np.int64]) -> Policies:
    used, place = np.unique(group[policies.rows], return_inverse=True)
    sums = np.zeros((len(used), policies.values.shape[1]), np.float64)
    np.add.at(sums, place, policies.values.astype(np.float64))
    sums /= np.maximum(sums.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    return Policies(used.astype(np.int32), sums.astype(np.float16))

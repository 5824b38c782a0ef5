"""Merges rows of the same canonical position, and selects rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from arena.export._blocks import Policies, select_policies
from arena.export._boards import Positions
from arena.export._canonical import turn_actions, turn_legal, turn_policies
from arena.export._source import ExportRows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from arena.export._canonical import CanonicalImages
    from arena_plugins.contract import Symmetry

    Floats = NDArray[np.float32]


def turned(rows: ExportRows, canonical: CanonicalImages, symmetries: Sequence[Symmetry]) -> ExportRows:
    """Return rows transformed to their canonical images."""
    positions, policies, which = rows.positions, rows.policies, canonical.symmetry
    num_actions = len(symmetries[0].actions)
    legal = turn_legal(positions.legal, which, symmetries, num_actions)
    return ExportRows(
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
        weights=rows.weights,
    )


def taken(rows: ExportRows, chosen: NDArray[np.int64]) -> ExportRows:
    """Return the rows with the indices `chosen`, in that order."""
    own, opp, legal, player = rows.positions
    return ExportRows(
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
        weights=rows.weights[chosen],
    )


def merged(rows: ExportRows, keys: NDArray[np.uint64]) -> tuple[ExportRows, NDArray[np.uint64]]:
    """Merge rows of equal positions; return the first row of each with count and means, and the keys.

    Rows may be merged already: the means are over all original rows, however they were grouped. The policies
    are in single precision; `halved` converts them to the precision that is written.

    Args:
        rows: rows in canonical images.
        keys: equal for equal positions; `[n]`.
    """
    order = np.argsort(keys, kind="stable")
    is_first = _differs(keys, order)
    for part in _told_by(rows):
        is_first |= _differs(part, order)
    starts = np.flatnonzero(is_first)
    group = np.empty(len(order), np.int64)
    # Groups are ordered by their first row, which keeps rows of a match together.
    rank = np.argsort(np.argsort(order[starts]))
    group[order] = np.repeat(rank, np.diff(np.append(starts, len(order))))
    first = np.sort(order[starts])
    result = taken(rows, first)
    num = len(first)
    result.count = _sums(rows.count, group, num).astype(np.int32)
    result.value = _means(rows.value, rows.count, group, num)
    result.root_value = _means(rows.root_value, rows.weights[:, 0], group, num)
    result.solver_value = _means(rows.solver_value, rows.weights[:, 1], group, num)
    result.policies = _mean_policies(rows.policies, rows.weights[:, 2], group)
    result.weights = np.stack([_sums(column, group, num) for column in rows.weights.T], 1).astype(np.int32)
    return result, keys[first]


def halved(policies: Policies) -> Policies:
    """Return policies in the precision in which they are written."""
    return Policies(policies.rows, policies.values.astype(np.float16))


def _told_by(rows: ExportRows) -> list[NDArray[Any]]:
    """Return the columns that identify a position, in case two positions have the same key."""
    own, opp, _, player = rows.positions
    return [*own.T, *opp.T, player]


def _differs(column: NDArray[Any], order: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which rows, in the given order, differ from their predecessor; True for the first row."""
    differs = np.ones(len(order), np.bool_)
    sorted_column = column[order]
    np.not_equal(sorted_column[1:], sorted_column[:-1], out=differs[1:])
    return differs


def _sums(values: NDArray[Any], group: NDArray[np.int64], num: int) -> NDArray[np.float64]:
    return np.bincount(group, values, num).astype(np.float64)


def _means(values: Floats, weights: NDArray[np.int32], group: NDArray[np.int64], num: int) -> Floats:
    """Return the weighted mean of the existing values in each group; NaN for groups without any."""
    means = np.full(num, np.nan, np.float32)
    has = np.flatnonzero(weights)
    if len(has):
        sums = _sums(values[has] * weights[has].astype(np.float64), group[has], num)
        total = _sums(weights, group, num)
        np.divide(sums, total, out=means, where=total > 0, casting="same_kind")
    return means


def _mean_policies(policies: Policies, weights: NDArray[np.int32], group: NDArray[np.int64]) -> Policies:
    used, place = np.unique(group[policies.rows], return_inverse=True)
    sums = np.zeros((len(used), policies.values.shape[1]), np.float64)
    np.add.at(sums, place, policies.values.astype(np.float64) * weights[policies.rows, None])
    sums /= np.maximum(sums.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    return Policies(used.astype(np.int32), sums.astype(np.float32))

"""Splits a large export into parts that fit into memory, in temporary files, and merges equal positions."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from arena.export._blocks import Policies, select_policies
from arena.export._boards import Positions
from arena.export._canonical import turn_actions, turn_legal, turn_policies
from arena.export._source import MATCH, ExportRows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from arena.export._canonical import CanonicalImages
    from arena_plugins.contract import Symmetry

    Keys = NDArray[np.uint64]
    Parts = NDArray[np.uint16]
    Floats = NDArray[np.float32]

_ROWS = 1 << 17
"""Approximate number of rows per part."""
_MOST = 256
"""Maximum number of parts, because each needs up to two files per split."""


def num_parts(num_rows: int) -> int:
    """Return the number of parts for a number of rows."""
    return min(_MOST, num_rows // _ROWS + 1)


def parts_by_key(keys: Keys, num: int) -> Parts:
    """Return the part of each row; equal positions are in the same part; `[n]`."""
    # The upper bits select the part, so the lower bits still distinguish the keys within it.
    return ((keys >> np.uint64(32)) % np.uint64(num)).astype(np.uint16)


class KeyFiles:
    """Files with the keys of positions, by split and part."""

    def __init__(self, folder: Path) -> None:
        """Create a new folder for the files."""
        folder.mkdir()
        self._folder = folder

    def add(self, split: str, keys: Keys, parts: Parts) -> None:
        """Append the keys of rows."""
        for part, chosen in _shares(parts):
            _append(self._folder / f"{split}-{part}.keys", keys[chosen])

    def take(self, split: str, part: int) -> Keys:
        """Return the keys of a part in order of appending, and delete its file; `[n]`."""
        return _take(self._folder / f"{split}-{part}.keys", np.dtype(np.uint64))


class RowFiles:
    """Files with rows, by split and part; a row refers to its match by the index among all matches."""

    def __init__(self, folder: Path, num_actions: int) -> None:
        """Create a new folder for the files."""
        folder.mkdir()
        self._folder = folder
        self._num_rows: Counter[tuple[str, int]] = Counter()
        self._num_actions = num_actions
        self._type: np.dtype[Any] | None = None
        self._policy: np.dtype[Any] | None = None

    def add(self, split: str, rows: ExportRows, parts: Parts) -> None:
        """Append rows to the parts given by `parts`; `[n]`."""
        records, policy = self._records(rows), self._policy_type(rows)
        # Index of each row's policy, -1 for a row without one.
        place = np.full(len(rows), -1, np.int64)
        place[rows.policies.rows] = np.arange(len(rows.policies.rows))
        for part, chosen in _shares(parts):
            _append(self._folder / f"{split}-{part}.rows", records[chosen])
            has = np.flatnonzero(place[chosen] >= 0)
            said = np.zeros(len(has), policy)
            # Counted from the beginning of the file, over all calls.
            said["row"] = has + self._num_rows[split, part]
            said["policy"] = rows.policies.values[place[chosen[has]]]
            _append(self._folder / f"{split}-{part}.policies", said)
            self._num_rows[split, part] += len(chosen)

    def num_rows(self, split: str, part: int) -> int:
        """Return the number of rows in a part."""
        return self._num_rows[split, part]

    def take(self, split: str, parts: range) -> ExportRows | None:
        """Return the rows of some parts in order of appending, and delete the files; None without rows."""
        if (
            self._type is None
            or self._policy is None
            or not any(self._num_rows[split, part] for part in parts)
        ):
            return None
        files = [self._folder / f"{split}-{part}" for part in parts]
        records = np.concatenate([_take(file.with_suffix(".rows"), self._type) for file in files])
        said = [_take(file.with_suffix(".policies"), self._policy) for file in files]
        first = 0
        for part, policies in zip(parts, said, strict=True):
            # Converts the row within a file to the row within all files that are read together.
            policies["row"] += first
            first += self._num_rows[split, part]
        policies = np.concatenate(said)
        return ExportRows(
            positions=Positions(records["own"], records["opp"], records["legal"], records["player"]),
            policies=Policies(policies["row"].astype(np.int32), policies["policy"]),
            weights=records["weights"],
            **{name: np.ascontiguousarray(records[name]) for name in _PLAIN},
        )

    def _records(self, rows: ExportRows) -> NDArray[np.void]:
        own, opp, legal, player = rows.positions
        if self._type is None:
            self._type = np.dtype(
                [
                    ("own", "<u8", own.shape[1]),
                    ("opp", "<u8", opp.shape[1]),
                    ("legal", "<u8", legal.shape[1]),
                    ("player", "i1"),
                    ("weights", "<i4", 3),
                    *((name, getattr(rows, name).dtype) for name in _PLAIN),
                ]
            )
        records = np.zeros(len(rows), self._type)
        records["own"], records["opp"], records["legal"], records["player"] = own, opp, legal, player
        for name in (*_PLAIN, "weights"):
            records[name] = getattr(rows, name)
        return records

    def _policy_type(self, rows: ExportRows) -> np.dtype[Any]:
        if self._policy is None:
            self._policy = np.dtype(
                [("row", "<u4"), ("policy", rows.policies.values.dtype, self._num_actions)]
            )
        return self._policy


_PLAIN = ("action", "ply", "plies_to_end", "value", "root_value", "solver_value", "count", "match")


class MatchFile:
    """A file with all matches of an export, in order of loading."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._num = 0

    def add(self, matches: NDArray[np.void]) -> int:
        """Append matches; return the index of the first of them."""
        first = self._num
        _append(self._path, matches)
        self._num += len(matches)
        return first

    def parts(self, indices: NDArray[np.int32], num: int) -> Parts:
        """Return the part of each match, for `num` equal ranges of matches; `[n]`."""
        return (indices.astype(np.int64) * num // max(1, self._num)).astype(np.uint16)

    def read(self, first: int, last: int) -> NDArray[np.void]:
        """Return the matches from index `first` to index `last`, both included."""
        return np.fromfile(self._path, MATCH, last - first + 1, offset=first * MATCH.itemsize)


def _shares(parts: Parts) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yield each part with the indices of its rows, in order."""
    order = np.argsort(parts, kind="stable")
    numbers, starts = np.unique(parts[order], return_index=True)
    bounds = [*starts.tolist(), len(order)]
    for index, number in enumerate(numbers.tolist()):
        yield number, order[bounds[index] : bounds[index + 1]]


def _append(path: Path, array: NDArray[Any]) -> None:
    if len(array):
        with path.open("ab") as file:
            file.write(np.ascontiguousarray(array).data)


def _take(path: Path, kind: np.dtype[Any]) -> NDArray[Any]:
    try:
        found = np.fromfile(path, kind)
    except FileNotFoundError:
        return np.zeros(0, kind)
    path.unlink()
    return found


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
    # Only neighbours are compared. If different positions had the same key, some equal ones might not be
    # neighbours and stay apart, but no two different ones are merged.
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
        # In double precision, so that the mean hardly depends on the order of the rows.
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

"""Temporary files of a large export: keys and rows in parts that fit into memory, and the matches."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from arena.export._blocks import Policies
from arena.export._boards import Positions
from arena.export._source import MATCH, ExportRows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    Keys = NDArray[np.uint64]
    Parts = NDArray[np.uint16]

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
        place = np.full(len(rows), -1, np.int64)
        place[rows.policies.rows] = np.arange(len(rows.policies.rows))
        for part, chosen in _shares(parts):
            _append(self._folder / f"{split}-{part}.rows", records[chosen])
            has = np.flatnonzero(place[chosen] >= 0)
            said = np.zeros(len(has), policy)
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

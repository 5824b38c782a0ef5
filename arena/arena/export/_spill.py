"""Rows and keys on the disk, in partitions by key: equal positions of a large export meet in a small one."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from arena.export._blocks import Policies
from arena.export._boards import Positions
from arena.export._source import MATCH, Rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    Keys = NDArray[np.uint64]

_ROWS = 1 << 17
"""Rows of a partition, about, before any are merged."""
_MOST = 256
"""Partitions at most: each is a file or two per split."""


def num_partitions(num_rows: int) -> int:
    """Give in how many parts so many rows are worked on."""
    return min(_MOST, num_rows // _ROWS + 1)


class KeySpill:
    """The keys of all positions by split."""

    def __init__(self, folder: Path, num: int) -> None:
        self._folder = folder
        self._num = num

    def add(self, split: str, keys: Keys) -> None:
        """Take in the keys of rows."""
        for partition, chosen in _shares(keys, self._num):
            _append(self._folder / f"{split}-{partition}.keys", keys[chosen])

    def read(self, split: str, partition: int) -> Keys:
        """Give the keys of a partition in the order they came: `[n]`."""
        return _read(self._folder / f"{split}-{partition}.keys", np.dtype(np.uint64))

    def discard(self, partition: int) -> None:
        """Remove what was read."""
        for file in self._folder.glob(f"*-{partition}.*"):
            file.unlink()


class RowSpill(KeySpill):
    """Rows with their keys, and what their matches give them."""

    def __init__(self, folder: Path, num: int, num_actions: int) -> None:
        super().__init__(folder, num)
        self._num_actions = num_actions
        self._num_matches = 0
        self._num_rows: Counter[tuple[str, int]] = Counter()
        self._policy = np.dtype([("row", "<u4"), ("policy", "<f2", num_actions)])
        self._type: np.dtype[Any] | None = None

    def add_matches(self, matches: NDArray[np.void]) -> None:
        """Take in the matches of the rows that come next; rows count them from here."""
        _append(self._folder / "matches", matches)
        self._num_matches += len(matches)

    def add_rows(self, split: str, keys: Keys, rows: Rows, num_matches: int) -> None:
        """Take in rows of the `num_matches` matches that came last."""
        records = self._records(rows, self._num_matches - num_matches)
        place = np.full(len(rows), -1, np.int64)
        place[rows.policies.rows] = np.arange(len(rows.policies.rows))
        for partition, chosen in _shares(keys, self._num):
            _append(self._folder / f"{split}-{partition}.keys", keys[chosen])
            _append(self._folder / f"{split}-{partition}.rows", records[chosen])
            has = np.flatnonzero(place[chosen] >= 0)
            said = np.zeros(len(has), self._policy)
            said["row"] = has + self._num_rows[split, partition]
            said["policy"] = rows.policies.values[place[chosen[has]]]
            _append(self._folder / f"{split}-{partition}.policies", said)
            self._num_rows[split, partition] += len(chosen)

    def read_rows(self, split: str, partition: int) -> Rows | None:
        """Give the rows of a partition in the order they came; None where there are none."""
        if self._type is None or not self._num_rows[split, partition]:
            return None
        records = _read(self._folder / f"{split}-{partition}.rows", self._type)
        said = _read(self._folder / f"{split}-{partition}.policies", self._policy)
        return Rows(
            positions=Positions(records["own"], records["opp"], records["legal"], records["player"]),
            policies=Policies(said["row"].astype(np.int32), said["policy"]),
            **{name: np.ascontiguousarray(records[name]) for name in _PLAIN},
        )

    def matches(self) -> NDArray[np.void]:
        """Give all matches, as they lie on the disk."""
        return np.memmap(self._folder / "matches", MATCH, "r")

    def _records(self, rows: Rows, first_match: int) -> NDArray[np.void]:
        own, opp, legal, player = rows.positions
        if self._type is None:
            self._type = np.dtype(
                [
                    ("own", "<u8", own.shape[1]),
                    ("opp", "<u8", opp.shape[1]),
                    ("legal", "<u8", legal.shape[1]),
                    ("player", "i1"),
                    *((name, getattr(rows, name).dtype) for name in _PLAIN),
                ]
            )
        records = np.zeros(len(rows), self._type)
        records["own"], records["opp"], records["legal"], records["player"] = own, opp, legal, player
        for name in _PLAIN:
            records[name] = getattr(rows, name)
        records["match"] += first_match
        return records


_PLAIN = ("action", "ply", "plies_to_end", "value", "root_value", "solver_value", "count", "match")


def _shares(keys: Keys, num: int) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yield the partitions with the rows that belong there, in their order."""
    # The low bits stay for the keys within a partition.
    partition = ((keys >> np.uint64(32)) % np.uint64(num)).astype(np.uint16)
    order = np.argsort(partition, kind="stable")
    bounds = np.searchsorted(partition[order], np.arange(num + 1))
    for number in range(num):
        if bounds[number] < bounds[number + 1]:
            yield number, order[bounds[number] : bounds[number + 1]]


def _append(path: Path, array: NDArray[Any]) -> None:
    if len(array):
        with path.open("ab") as file:
            file.write(np.ascontiguousarray(array).tobytes())


def _read(path: Path, kind: np.dtype[Any]) -> NDArray[Any]:
    return np.fromfile(path, kind) if path.exists() else np.zeros(0, kind)

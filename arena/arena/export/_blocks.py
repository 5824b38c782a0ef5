"""Blocks of rows, the unit of writing and reading."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from arena.export.schema import COLUMNS

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Coded(NamedTuple):
    """A column of mostly repeated texts, stored as codes."""

    codes: NDArray[np.unsignedinteger]
    """Index into `values` for each row, in the smallest sufficient type; `[n]`."""
    values: tuple[str, ...]


def code_type(num_values: int) -> type[np.unsignedinteger]:
    """Return the smallest unsigned type that can hold `num_values` different codes."""
    return np.uint8 if num_values <= 1 << 8 else np.uint16 if num_values <= 1 << 16 else np.uint32


class Policies(NamedTuple):
    """The policies of the rows that have one."""

    rows: NDArray[np.int32]
    """Indices of the rows that have a policy, ascending; `[k]`."""
    values: NDArray[np.floating[Any]]
    """The policies, in half precision when written; `[k, num_actions]`."""


class RowBlock(NamedTuple):
    """Some rows with all their columns."""

    num_rows: int
    arrays: dict[str, NDArray[np.generic]]
    """Columns of numbers, `[n]`, and of 64-bit words, `[n, words]`; NaN for null."""
    texts: dict[str, Coded]
    policies: Policies


def select_policies(policies: Policies, rows: NDArray[np.int64], num_rows: int) -> Policies:
    """Return the policies of selected rows, renumbered in that order; `num_rows` is the old total."""
    place = np.full(num_rows, -1, np.int64)
    place[policies.rows] = np.arange(len(policies.rows))
    chosen = place[rows]
    has = np.flatnonzero(chosen >= 0)
    return Policies(has.astype(np.int32), policies.values[chosen[has]])


class RowsHash:
    """A digest over rows that is the same for all file formats."""

    def __init__(self) -> None:
        self._digest = sha256()

    def add(self, block: RowBlock) -> None:
        """Include all columns of a block; the order of blocks matters."""
        for column in COLUMNS:
            if column.kind == "text":
                codes, values = block.texts[column.name]
                # Formats store codes in types of their own, so the type is chosen by the number of values
                # alone.
                codes = codes.astype(code_type(len(values)), copy=False)
                self._add(column.name, _little(codes), json.dumps(values))
            elif column.kind == "policy":
                self._add(column.name, _little(block.policies.rows), "rows")
                self._add(column.name, _little(block.policies.values), "values")
            else:
                self._add(column.name, _little(block.arrays[column.name]), "")

    def hexdigest(self) -> str:
        """Return the digest of all blocks so far, as 64 hex digits."""
        return self._digest.hexdigest()

    def _add(self, name: str, array: NDArray[np.generic], note: str) -> None:
        head = f"{name} {array.dtype.str} {array.shape} {len(note)} {note}\n"
        self._digest.update(head.encode())
        self._digest.update(np.ascontiguousarray(array).data)


def _little(array: NDArray[np.generic]) -> NDArray[np.generic]:
    return array.astype(array.dtype.newbyteorder("<"), copy=False)

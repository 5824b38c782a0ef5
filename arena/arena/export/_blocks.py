"""Blocks of rows: what is written to files and read from them."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from arena.export.schema import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


class Coded(NamedTuple):
    """A column of texts, most of which repeat."""

    codes: NDArray[np.unsignedinteger]
    """Index in `values` per row, in as few bytes as that takes; `[n]`."""
    values: tuple[str, ...]


def code_type(num_values: int) -> type[np.unsignedinteger]:
    """Give the smallest type that can count so many values."""
    return np.uint8 if num_values <= 1 << 8 else np.uint16 if num_values <= 1 << 16 else np.uint32


class Policies(NamedTuple):
    """The policies of those rows that have one."""

    rows: NDArray[np.int32]
    """Ascending; `[k]`."""
    values: NDArray[np.floating[Any]]
    """In two bytes where they are written; `[k, num_actions]`."""


class Block(NamedTuple):
    """Rows with all columns."""

    num_rows: int
    arrays: dict[str, NDArray[np.generic]]
    """Columns of numbers, `[n]`, and of words, `[n, words]`; NaN for null."""
    texts: dict[str, Coded]
    policies: Policies


def concat_policies(parts: Sequence[tuple[int, Policies]], num_actions: int) -> Policies:
    """Put the policies of parts together; each part comes with the row it begins at."""
    rows = [first + policies.rows for first, policies in parts]
    values = [policies.values for _, policies in parts]
    return Policies(
        np.concatenate([np.zeros(0, np.int32), *rows]).astype(np.int32),
        np.concatenate([np.zeros((0, num_actions), np.float16), *values]),
    )


def select_policies(policies: Policies, rows: NDArray[np.int64], num_rows: int) -> Policies:
    """Give the policies of chosen rows, numbered as they are chosen; `num_rows` are there in all."""
    place = np.full(num_rows, -1, np.int64)
    place[policies.rows] = np.arange(len(policies.rows))
    chosen = place[rows]
    has = np.flatnonzero(chosen >= 0)
    return Policies(has.astype(np.int32), policies.values[chosen[has]])


class RowsHash:
    """A digest over rows that does not depend on the format they are written in."""

    def __init__(self) -> None:
        self._digest = sha256()

    def add(self, block: Block) -> None:
        """Take in all columns of a block, in order."""
        for column in COLUMNS:
            if column.kind == "text":
                codes, values = block.texts[column.name]
                codes = codes.astype(code_type(len(values)), copy=False)
                self._add(column.name, _little(codes), json.dumps(values))
            elif column.kind == "policy":
                self._add(column.name, _little(block.policies.rows), "rows")
                self._add(column.name, _little(block.policies.values), "values")
            else:
                self._add(column.name, _little(block.arrays[column.name]), "")

    def hexdigest(self) -> str:
        """Give the digest of all blocks so far as 64 hex digits."""
        return self._digest.hexdigest()

    def _add(self, name: str, array: NDArray[np.generic], note: str) -> None:
        head = f"{name} {array.dtype.str} {array.shape} {len(note)} {note}\n"
        self._digest.update(head.encode())
        self._digest.update(np.ascontiguousarray(array).data)


def _little(array: NDArray[np.generic]) -> NDArray[np.generic]:
    return array.astype(array.dtype.newbyteorder("<"), copy=False)

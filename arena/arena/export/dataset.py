"""Reads exported positions as NumPy arrays, whole or in batches, with shuffling and random symmetries."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

import numpy as np

from arena.errors import ExportError
from arena.export._boards import bits_of
from arena.export._files import read_blocks
from arena.export._manifest import Manifest, file_sha256, read_manifest
from arena.export._text import ColumnWidths
from arena.export.schema import COLUMNS
from arena_plugins.spec import nearest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from numpy.typing import NDArray
    from typing_extensions import Unpack

    from arena.export._blocks import Coded, RowBlock
    from arena.export._manifest import DatasetSplit
    from arena_plugins.contract import Symmetry

Batch: TypeAlias = "dict[str, NDArray[Any]]"
"""Arrays by name, with one row per position; see `Dataset.batches`."""
WINDOW = 4
"""Number of blocks that are shuffled together, about half a million positions."""


class BatchOptions(TypedDict, total=False):
    """Options for making batches; every key is optional."""

    shuffle: int | None
    """Seed of the order; None keeps the order of the files. Use another seed for each epoch."""
    symmetry: Literal["none", "random"]
    """Use of symmetries: `random` transforms each position and its actions by a random one."""
    seed: int
    """Seed of the symmetries."""
    policy: Literal["stored", "played"]
    """Source of policies: `played` uses the played action where no policy is stored, except in openings."""
    drop_last: bool
    """Whether to drop a last batch that is not full."""


class Dataset:
    """A folder written by `arena export`."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        """Use a folder whose files are known to match its manifest; prefer `Dataset.open`."""
        self.folder = folder
        self.manifest = manifest
        game = manifest.game
        self._layout = ColumnWidths(game.rows * game.columns, game.num_actions)

    @classmethod
    def open(cls, folder: str | Path, *, verify: bool = True) -> Dataset:
        """Open an export.

        Args:
            folder: the folder given to `arena export` as OUT.
            verify: whether to read every file once and compare its SHA-256 with the manifest.

        Raises:
            ExportError: the folder is not an export or has another schema version, or a file is missing or
                damaged.
        """
        folder = Path(folder)
        manifest = read_manifest(folder)
        for part in manifest.splits.values():
            for file in part.files:
                path = folder / file.name
                if Path(file.name).name != file.name:
                    raise ExportError(
                        f"the manifest of {folder} names the file {file.name}, which is elsewhere"
                    )
                _check_file(path, file.num_bytes, file.sha256 if verify else None)
        return cls(folder, manifest)

    @property
    def game(self) -> str:
        """The spec of the game."""
        return self.manifest.game.spec

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the board."""
        return self.manifest.game.rows, self.manifest.game.columns

    @property
    def num_actions(self) -> int:
        """Number of actions; actions are the ints below it."""
        return self.manifest.game.num_actions

    @property
    def symmetries(self) -> Sequence[Symmetry]:
        """All symmetries of the game, identity first."""
        return self.manifest.game.symmetries

    @property
    def splits(self) -> tuple[str, ...]:
        """`train`, and `validation` if there is one."""
        return tuple(self.manifest.splits)

    def num_rows(self, split: str) -> int:
        """Return the number of rows of a split.

        Raises:
            ExportError: there is no such split.
        """
        return self._part(split).num_rows

    def columns(self, split: str, names: Collection[str] | None = None) -> Batch:
        """Return whole columns as stored; texts become arrays of str, missing numbers NaN.

        `policy` is `[n, num_actions]`, NaN in rows without a policy.

        Args:
            split: train or validation.
            names: names of the columns; None for all.

        Raises:
            ExportError: there is no such split or column, or a file cannot be read.
        """
        known = [column.name for column in COLUMNS]
        wanted = known if names is None else list(names)
        for name in wanted:
            if name not in known:
                raise ExportError(f'there is no column "{name}"{nearest(name, known)}')
        parts = [_columns(block, wanted, self.num_actions) for block in self._blocks(split)]
        if not parts:
            raise ExportError(f"{self.folder} has no rows in {split}")
        return {name: np.concatenate([part[name] for part in parts]) for name in wanted}

    def batches(self, split: str, batch_size: int = 1024, **wish: Unpack[BatchOptions]) -> Iterator[Batch]:
        """Yield positions in batches of `batch_size`; the last one may be shorter.

        Each batch is a dict of arrays with `b` rows:

        - `planes` float32 `[b, 2, rows, columns]`: own stones, the other player's stones;
        - `legal` bool `[b, num_actions]`, `action` int64 `[b]`: the played action;
        - `policy` float32 `[b, num_actions]`, zeros if there is none; `has_policy` bool `[b]`;
        - `value`, `root_value`, `solver_value` float32 `[b]`, for the side to move; NaN if there is none;
        - `plies_to_end`, `player`, `ply`, `match_id` int64 `[b]`, `count` float32 `[b]`.

        Two calls with the same options yield the same batches.

        Args:
            split: train or validation.
            batch_size: number of rows in a batch.
            **wish: see `BatchOptions`.

        Raises:
            ExportError: there is no such split, or a file cannot be read.
        """
        self._part(split)
        if batch_size < 1:
            raise ExportError(f"a batch of {batch_size} rows cannot be made; ask for 1 or more")
        return self._batches(split, batch_size, wish)

    def arrays(self, split: str, **wish: Unpack[BatchOptions]) -> Batch:
        """Return all rows of a split as a single batch in memory.

        Raises:
            ExportError: there is no such split, it has no rows, or a file cannot be read.
        """
        wish["drop_last"] = False
        parts = list(self.batches(split, max(1, self.num_rows(split)), **wish))
        if not parts:
            raise ExportError(f"{self.folder} has no rows in {split}")
        return parts[0]

    def _batches(self, split: str, batch_size: int, wish: BatchOptions) -> Iterator[Batch]:
        shuffle = wish.get("shuffle")
        order = None if shuffle is None else np.random.default_rng(shuffle)
        turns = np.random.default_rng(wish.get("seed", 0)) if wish.get("symmetry") == "random" else None
        board = _SymmetricBoard(self.shape, self.num_actions, tuple(self.symmetries))
        left: Batch | None = None
        for window in self._windows(split, order):
            rows = _joined([_tensors(block, board, policy=wish.get("policy", "stored")) for block in window])
            if order is not None:
                chosen = order.permutation(len(rows["value"]))
                rows = {name: array[chosen] for name, array in rows.items()}
            if turns is not None:
                board.turn(rows, turns.integers(len(board.symmetries), size=len(rows["value"])))
            rows = rows if left is None else _joined([left, rows])
            whole = len(rows["value"]) // batch_size * batch_size
            for start, end in pairwise(range(0, whole + 1, batch_size)):
                yield {name: array[start:end] for name, array in rows.items()}
            left = {name: array[whole:] for name, array in rows.items()}
        if left is not None and len(left["value"]) and not wish.get("drop_last", False):
            yield left

    def _windows(self, split: str, order: np.random.Generator | None) -> Iterator[list[RowBlock]]:
        """Yield groups of blocks to shuffle together; without shuffling, single blocks in file order."""
        files = [file.name for file in self._part(split).files]
        if order is None:
            yield from ([block] for block in self._blocks(split))
            return
        window: list[RowBlock] = []
        order.shuffle(files)
        for file in files:
            for block in self._read(file):
                window.append(block)
                if len(window) == WINDOW:
                    yield window
                    window = []
        if window:
            yield window

    def _blocks(self, split: str) -> Iterator[RowBlock]:
        for file in self._part(split).files:
            yield from self._read(file.name)

    def _read(self, name: str) -> Iterator[RowBlock]:
        return read_blocks(self.folder / name, self.manifest.format, self._layout)

    def _part(self, split: str) -> DatasetSplit:
        if split not in self.manifest.splits:
            there = " and ".join(self.splits)
            raise ExportError(f'{self.folder} has no split "{split}"{nearest(split, self.splits)} ({there})')
        return self.manifest.splits[split]


def _check_file(path: Path, num_bytes: int, sha256: str | None) -> None:
    try:
        is_sound = path.stat().st_size == num_bytes and sha256 in {
            None,
            file_sha256(path) if sha256 else None,
        }
    except OSError as error:
        raise ExportError(f"{path} cannot be read ({error.strerror}); export again") from error
    if not is_sound:
        raise ExportError(
            f"{path} is not the file that was exported: it was changed or cut off; export again"
        )


def _columns(block: RowBlock, names: Sequence[str], num_actions: int) -> Batch:
    columns: Batch = {}
    for name in names:
        if name in block.texts:
            columns[name] = _texts(block.texts[name])
        elif name == "policy":
            columns[name] = np.full((block.num_rows, num_actions), np.nan, np.float16)
            columns[name][block.policies.rows] = block.policies.values
        else:
            columns[name] = block.arrays[name]
    return columns


def _texts(coded: Coded) -> NDArray[np.str_]:
    return np.array(coded.values, np.str_)[coded.codes]


def _joined(parts: Sequence[Batch]) -> Batch:
    if len(parts) == 1:
        return parts[0]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


_SAME = ("value", "root_value", "solver_value")
_WIDE = ("action", "plies_to_end", "player", "ply", "match_id")


class _SymmetricBoard:
    """A board with its symmetries, which can be applied to rows."""

    def __init__(self, shape: tuple[int, int], num_actions: int, symmetries: tuple[Symmetry, ...]) -> None:
        self.shape = shape
        self.num_actions = num_actions
        self.symmetries = symmetries

    def turn(self, rows: Batch, which: NDArray[np.int64]) -> None:
        """Apply a symmetry to each row, in place.

        Args:
            rows: the result of `_tensors`.
            which: index of the symmetry for each row; `[n]`.
        """
        num = len(which)
        planes = rows["planes"].reshape(num, 2, -1)
        actions = np.array([symmetry.actions for symmetry in self.symmetries])
        for index, symmetry in enumerate(self.symmetries):
            chosen = np.flatnonzero(which == index)
            if not index or not len(chosen):
                continue
            # The content of cell i moves to cells[i], so the inverse permutation maps each cell to its
            # source.
            cells, back = np.argsort(symmetry.cells), np.argsort(symmetry.actions)
            planes[chosen] = planes[chosen][:, :, cells]
            for name in ("legal", "policy"):
                rows[name][chosen] = rows[name][chosen][:, back]
        rows["action"] = actions[which, rows["action"]].astype(np.int64)


def _tensors(block: RowBlock, board: _SymmetricBoard, *, policy: str) -> Batch:
    """Convert a block to arrays as described in `arena.export.dataset.Dataset.batches`."""
    num, num_cells = block.num_rows, board.shape[0] * board.shape[1]
    planes = np.empty((num, 2, num_cells), np.float32)
    for plane, name in enumerate(("own", "opp")):
        planes[:, plane] = bits_of(_words(block, name), num_cells)
    rows: Batch = {
        "planes": planes.reshape(num, 2, *board.shape),
        "legal": bits_of(_words(block, "legal"), board.num_actions).astype(np.bool_),
        "policy": np.zeros((num, board.num_actions), np.float32),
        "has_policy": np.zeros(num, np.bool_),
        "count": block.arrays["count"].astype(np.float32),
        **{name: block.arrays[name].astype(np.float32) for name in _SAME},
        **{name: block.arrays[name].astype(np.int64) for name in _WIDE},
    }
    rows["policy"][block.policies.rows] = block.policies.values
    rows["has_policy"][block.policies.rows] = True
    if policy == "played":
        _fill_played(rows, block)
    return rows


def _fill_played(rows: Batch, block: RowBlock) -> None:
    codes, openings = block.texts["opening"]
    lengths = np.array([len(opening.split()) for opening in openings])
    chosen = np.flatnonzero(~rows["has_policy"] & (rows["ply"] >= lengths[codes]))
    rows["policy"][chosen, rows["action"][chosen]] = 1
    rows["has_policy"][chosen] = True


def _words(block: RowBlock, name: str) -> NDArray[np.uint64]:
    return block.arrays[name].astype(np.uint64, copy=False)

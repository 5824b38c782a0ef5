"""Converts blocks of rows to arrays for training networks: planes, masks, policies, values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from arena.export._boards import bits_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from arena.export._blocks import RowBlock
    from arena_plugins.contract import Symmetry

    Batch = dict[str, NDArray[Any]]

_SAME = ("value", "root_value", "solver_value")
_WIDE = ("action", "plies_to_end", "player", "ply", "match_id")


class SymmetricBoard:
    """A board with its symmetries, which can be applied to rows."""

    def __init__(self, shape: tuple[int, int], num_actions: int, symmetries: tuple[Symmetry, ...]) -> None:
        self.shape = shape
        self.num_actions = num_actions
        self.symmetries = symmetries

    def turn(self, rows: Batch, which: NDArray[np.int64]) -> None:
        """Apply a symmetry to each row, in place.

        Args:
            rows: the result of `tensors`.
            which: index of the symmetry for each row; `[n]`.
        """
        num = len(which)
        planes = rows["planes"].reshape(num, 2, -1)
        actions = np.array([symmetry.actions for symmetry in self.symmetries])
        for index, symmetry in enumerate(self.symmetries):
            chosen = np.flatnonzero(which == index)
            if not index or not len(chosen):
                continue
            # The content of cell i moves to cells[i]. The inverse permutation tells where each cell's content
            # is from.
            cells, back = np.argsort(symmetry.cells), np.argsort(symmetry.actions)
            planes[chosen] = planes[chosen][:, :, cells]
            for name in ("legal", "policy"):
                rows[name][chosen] = rows[name][chosen][:, back]
        rows["action"] = actions[which, rows["action"]].astype(np.int64)


def tensors(block: RowBlock, board: SymmetricBoard, *, policy: str) -> Batch:
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

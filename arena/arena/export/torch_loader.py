"""Exported positions for PyTorch, which is imported only when a data set is made."""

# PyTorch's type information is incomplete.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from arena.export.dataset import Dataset
from arena_plugins.extras import require_modules

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from torch import Tensor
    from torch.utils.data import IterableDataset
    from typing_extensions import Unpack

    from arena.export.dataset import BatchOptions


def positions(
    data: Dataset | str | Path, split: str = "train", batch_size: int = 1024, **wish: Unpack[BatchOptions]
) -> IterableDataset[dict[str, Tensor]]:
    """Return a data set that yields the batches of `Dataset.batches` as tensors.

    It yields complete batches: use `DataLoader(positions(...), batch_size=None)`. Each worker makes every
    n-th batch, so the batches and their order do not depend on the number of workers.

    Args:
        data: an export, or its folder.
        split: train or validation.
        batch_size: number of rows in a batch.
        **wish: see `arena.export.dataset.BatchOptions`.

    Raises:
        ExportError: `data` is not an export, is damaged, or has no such split.
        PluginError: PyTorch is not installed.
    """
    require_modules("torch_loader", "bot-arena[train-torch]", "torch")
    from torch import from_numpy
    from torch.utils.data import IterableDataset, get_worker_info

    opened = data if isinstance(data, Dataset) else Dataset.open(data)
    opened.num_rows(split)

    class Positions(IterableDataset["dict[str, Tensor]"]):
        """The batches of one export."""

        def __iter__(self) -> Iterator[dict[str, Tensor]]:
            """Yield the batches of this worker."""
            worker: Any = get_worker_info()
            first, step = (0, 1) if worker is None else (worker.id, worker.num_workers)
            batches = opened.batches(split, batch_size, **wish)
            for batch in islice(batches, first, None, step):
                # Copied, because a tensor shares its array's memory, and a slice would keep the whole window
                # alive.
                yield {name: from_numpy(array.copy()) for name, array in batch.items()}

        def __reduce__(self) -> tuple[object, tuple[()]]:
            """Pickle as a call of `positions`, because spawned workers cannot import this local class."""
            return partial(positions, opened, split, batch_size, **wish), ()

    return Positions()

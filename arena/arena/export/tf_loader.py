"""Exported positions for TensorFlow, which is imported only when a data set is made."""

# TensorFlow has no type information.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arena.export.dataset import Dataset
from arena_plugins.extras import require_modules

if TYPE_CHECKING:
    from pathlib import Path

    from typing_extensions import Unpack

    from arena.export.dataset import BatchOptions

_FLOATS = ("value", "root_value", "solver_value", "count")
_INTS = ("action", "plies_to_end", "player", "ply", "match_id")


def positions(
    data: Dataset | str | Path, split: str = "train", batch_size: int = 1024, **wish: Unpack[BatchOptions]
) -> Any:  # noqa: ANN401 # a tf.data.Dataset; TensorFlow has no type information
    """Return a `tf.data.Dataset` that yields the batches of `Dataset.batches` as dicts of tensors.

    Args:
        data: an export, or its folder.
        split: train or validation.
        batch_size: number of rows in a batch.
        **wish: see `arena.export.dataset.BatchOptions`.

    Raises:
        ExportError: `data` is not an export, is damaged, or has no such split.
        PluginError: TensorFlow is not installed.
    """
    require_modules("tf_loader", "bot-arena[train-keras]", "tensorflow")
    import tensorflow as tf

    opened = data if isinstance(data, Dataset) else Dataset.open(data)
    opened.num_rows(split)
    rows, columns = opened.shape
    actions = opened.num_actions
    signature: dict[str, Any] = {
        "planes": tf.TensorSpec((None, 2, rows, columns), tf.float32),
        "legal": tf.TensorSpec((None, actions), tf.bool),
        "policy": tf.TensorSpec((None, actions), tf.float32),
        "has_policy": tf.TensorSpec((None,), tf.bool),
        **{name: tf.TensorSpec((None,), tf.float32) for name in _FLOATS},
        **{name: tf.TensorSpec((None,), tf.int64) for name in _INTS},
    }
    return tf.data.Dataset.from_generator(
        lambda: opened.batches(split, batch_size, **wish), output_signature=signature
    )

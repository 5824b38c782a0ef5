"""Checkpoints: one file, which is replaced atomically."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, cast

import numpy as np

from arena.errors import ConfigError
from arena.training.files import write_whole
from arena_plugins.errors import PluginError
from arena_plugins.training import Checkpoint
from arena_plugins.weights import load_arrays

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from arena_plugins.training import Fact

NAME = "checkpoint.npz"
_META = "arena-checkpoint"
_MAX_BYTES = 1 << 34
"""Maximum size of a checkpoint that is read, 16 GiB."""


def save(folder: Path, checkpoint: Checkpoint, seconds: float) -> None:
    """Save a checkpoint together with the seconds of training it took.

    Raises:
        ConfigError: an array contains Python objects or has a reserved name.
    """
    if wrong := [name for name, array in checkpoint.arrays.items() if array.dtype.hasobject or name == _META]:
        raise ConfigError(f"the trainer's checkpoint has an array {wrong[0]!r} that cannot be kept")
    meta = {"step": checkpoint.step, "seconds": seconds, "facts": dict(checkpoint.facts)}
    arrays: Mapping[str, NDArray[np.generic]] = {
        _META: np.frombuffer(json.dumps(meta).encode(), np.uint8),
        **checkpoint.arrays,
    }
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    write_whole(folder / NAME, buffer.getvalue())


def load(folder: Path) -> tuple[Checkpoint, float] | None:
    """Return the checkpoint of a run and its seconds of training, or None if there is none yet.

    Raises:
        ConfigError: the file is damaged.
    """
    path = folder / NAME
    if not path.exists():
        return None
    try:
        arrays = load_arrays(path, max_bytes=_MAX_BYTES)
        meta = cast("dict[str, object]", json.loads(arrays.pop(_META).tobytes()))
        facts = cast("dict[str, Fact]", meta["facts"])
        return Checkpoint(int(str(meta["step"])), arrays, facts), float(str(meta["seconds"]))
    except (PluginError, KeyError, ValueError) as error:
        raise ConfigError(f"the checkpoint {path} is damaged ({error}); begin a new run") from error

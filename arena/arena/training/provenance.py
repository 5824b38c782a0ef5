"""The provenance of weights: a TOML file beside each weights file."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from arena.rating.shares import wilson
from arena.training.files import toml_lines
from arena_plugins.training import Score

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from arena_plugins.training import Fact

_LIBRARIES = ("numpy", "numba", "torch", "tensorflow", "keras", "onnx", "onnxruntime")


class Measured(msgspec.Struct, frozen=True):
    """The results against one opponent."""

    opponent: str
    score: Score
    plies: int
    """Number of random actions at the start of each pair of matches."""


def path_of(weights: Path) -> Path:
    """Return the path of a weights file's provenance."""
    return weights.with_suffix(".provenance.toml")


def provenance(
    weights: bytes,
    run: Mapping[str, Fact],
    options: Mapping[str, Fact],
    data: Mapping[str, Fact],
    measured: Sequence[Measured] = (),
) -> str:
    """Format the provenance of weights.

    Args:
        weights: the content of the weights file.
        run: how they were made: command, trainer, recipe, game, seed, steps, seconds.
        options: the options of the trainer.
        data: what they were made from.
        measured: their results in matches.
    """
    head: dict[str, Fact] = {
        "sha256": hashlib.sha256(weights).hexdigest(),
        "bytes": len(weights),
        **run,
        "date": datetime.now(UTC).date().isoformat(),
    }
    tables = {"options": options, "data": data, "versions": _versions(), "machine": _machine()}
    text = toml_lines(head)
    text += "".join(f"\n[{name}]\n{toml_lines(values)}" for name, values in tables.items() if values)
    return text + "".join(f"\n[[measured]]\n{toml_lines(_row(one))}" for one in measured)


def _row(measured: Measured) -> dict[str, Fact]:
    row: dict[str, Fact] = {"opponent": measured.opponent, "random_plies": measured.plies}
    for side, counts in (("first", measured.score.first), ("second", measured.score.second)):
        low, high = wilson(counts[0], sum(counts))
        row[f"{side}_matches"] = sum(counts)
        row[f"{side}_wins"], row[f"{side}_draws"], row[f"{side}_losses"] = counts
        row[f"{side}_win_percent"] = round(100 * counts[0] / max(sum(counts), 1), 1)
        row[f"{side}_win_low"], row[f"{side}_win_high"] = round(low, 1), round(high, 1)
    row["distinct"] = measured.score.num_distinct
    return row


def _versions() -> dict[str, Fact]:
    """Return the versions of the libraries that are loaded."""
    found: dict[str, Fact] = {
        "bot-arena": importlib.metadata.version("bot-arena"),
        "python": platform.python_version(),
    }
    return found | {name: importlib.metadata.version(name) for name in _LIBRARIES if name in sys.modules}


def _machine() -> dict[str, Fact]:
    return {"system": platform.system(), "processor": platform.machine(), "cores": os.cpu_count() or 1}

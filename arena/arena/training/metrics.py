"""The measurements of a run: `metrics.jsonl`, one JSON object per line.

Example: `{"step":400,"name":"loss","value":0.81,"t":1782000000.123}`.
"""

from __future__ import annotations

import json
import math
import os
import time
from typing import TYPE_CHECKING, NamedTuple, Self, TextIO

from arena.training.files import write_whole

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME = "metrics.jsonl"


class Figure(NamedTuple):
    """One line of the file."""

    step: int
    name: str
    value: float | None
    """The value; None if it was not a finite number."""
    t: float
    """Time in seconds since the epoch (UTC)."""


class MetricsWriter:
    """Appends measurements to the file; a context manager."""

    def __init__(self, folder: Path, *, last_step: int | None = None) -> None:
        """Open the file of a run.

        Args:
            folder: the folder of the run.
            last_step: step of the checkpoint that the run resumes from; lines of later steps are removed,
                because those steps are repeated.
        """
        self._path = folder / NAME
        if last_step is not None:
            lines = [_line(figure) for figure in read(folder) if figure.step <= last_step]
            write_whole(self._path, "".join(lines).encode())
        self._file: TextIO = self._path.open("a", encoding="utf-8")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, step: int, name: str, value: float) -> Figure:
        """Append a measurement, visible to readers at once."""
        number = float(value)
        figure = Figure(step, name, number if math.isfinite(number) else None, round(time.time(), 3))
        self._file.write(_line(figure))
        self._file.flush()
        return figure

    def sync(self) -> None:
        """Sync the file to disk."""
        os.fsync(self._file.fileno())


def read(folder: Path) -> Iterator[Figure]:
    """Yield the measurements of a run; a line cut off by a kill is skipped."""
    try:
        text = (folder / NAME).read_text("utf-8")
    except FileNotFoundError:
        return
    for line in text.splitlines():
        try:
            value = json.loads(line)
            yield Figure(int(value["step"]), str(value["name"]), value["value"], float(value["t"]))
        except (ValueError, KeyError, TypeError):
            continue


def _line(figure: Figure) -> str:
    return json.dumps(figure._asdict(), separators=(",", ":"), allow_nan=False) + "\n"

"""The figures of a run: `metrics.jsonl`, one JSON object a line.

For example `{"step":400,"name":"loss","value":0.81,"t":1782000000.123}`.
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
    """One line."""

    step: int
    name: str
    value: float | None
    """None where it was no finite number."""
    t: float
    """UTC seconds."""


class MetricsFile:
    """Appends figures; a context manager."""

    def __init__(self, folder: Path, *, last_step: int | None = None) -> None:
        """Open the file of a run.

        Args:
            folder: of the run.
            last_step: of the checkpoint that the run goes on from: figures of later steps come once more.
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
        """Append a figure, at once for those who read along."""
        number = float(value)
        figure = Figure(step, name, number if math.isfinite(number) else None, round(time.time(), 3))
        self._file.write(_line(figure))
        self._file.flush()
        return figure

    def sync(self) -> None:
        """Bring everything to the disk."""
        os.fsync(self._file.fileno())


def read(folder: Path) -> Iterator[Figure]:
    """Give the figures of a run; a line that was cut off by a kill is left out."""
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

"""Reads `metrics.jsonl` of training runs as they grow: whatever is in them, in bounded time and memory.

A line is `{"step": 400, "name": "loss", "value": 0.81, "t": 1763740800.0}`, `t` in UTC seconds.
"""

from __future__ import annotations

import math
import os
from bisect import bisect_left
from typing import TYPE_CHECKING, Final, cast

import msgspec

from arena.live.labels import show_name
from arena.live.tables import Point, Series

if TYPE_CHECKING:
    from pathlib import Path

FILE: Final = "metrics.jsonl"
"""What the file is called in the folder of a run."""
MAX_POINTS: Final = 1000
"""Points of a line that are kept; then two neighbours each become one."""
MAX_NAMES: Final = 200
"""Names in one file; further ones are counted, not kept."""
MAX_LINE: Final = 1 << 16
"""Bytes of a line; a longer one is damaged."""
CHUNK: Final = 4 << 20
"""Bytes that are read at a time."""
_MAX_STEP: Final = 1 << 53
"""Larger numbers are no steps, and floats could not tell them apart."""

_MAX_T: Final = 250_000_000_000.0
"""UTC seconds; calendars end soon after."""


class _Line(msgspec.Struct):
    step: float
    name: str
    value: float | None
    """None is what some writers put for a number that is none."""
    t: float = 0.0


_DECODER: Final = msgspec.json.Decoder(_Line)


class Metric:
    """What a run told under one name: a line of points, thinned as it grows, and the last value as it is."""

    def __init__(self) -> None:
        self._x: list[float] = []
        self._y: list[float] = []
        self._stride = 1
        self._pending: list[float] = []
        self.num_values = 0
        """Values that were told, those that are no numbers too."""
        self.num_unreal = 0
        """Values that were NaN or infinite, and are in no chart."""
        self.last_step = 0.0
        self.last_value = math.nan
        """NaN where the last one was no number."""

    def add(self, step: float, value: float) -> None:
        """Take a value; a step below the last one goes back there, as a run that was resumed does."""
        self.num_values += 1
        if step < self.last_step:
            self._go_back(step)
        self.last_step, self.last_value = step, value
        if not math.isfinite(value):
            self.num_unreal += 1
            return
        self._pending.append(value)
        if len(self._pending) >= self._stride:
            self._x.append(step)
            self._y.append(_mean(self._pending))
            self._pending = []
            if len(self._x) > 2 * MAX_POINTS:
                self._thin()

    @property
    def points(self) -> tuple[Point, ...]:
        """By ascending step; where it was thinned, each is the mean of as many values."""
        points = [Point(x, y) for x, y in zip(self._x, self._y, strict=True)]
        if self._pending:
            points.append(Point(self.last_step, _mean(self._pending)))
        return tuple(points)

    def _go_back(self, step: float) -> None:
        place = bisect_left(self._x, step)
        del self._x[place:], self._y[place:]
        self._pending = []

    def _thin(self) -> None:
        self._stride *= 2
        if len(self._x) % 2:
            self._pending = [self._y.pop()]
            self._x.pop()
        self._y = [(one + two) / 2 for one, two in zip(self._y[::2], self._y[1::2], strict=True)]
        self._x = self._x[1::2]


class MetricsFile:
    """One file, followed: `read` takes in what is new."""

    def __init__(self, path: Path) -> None:
        """Take the file; it need not be there yet."""
        self._path = path
        self._inode = 0
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._offset = 0
        self._rest = b""
        self._skips = False
        self.metrics: dict[str, Metric] = {}
        """By name, in the order of their first line."""
        self.num_damaged = 0
        """Lines that are none."""
        self.num_left_out = 0
        """Lines of names beyond the first ones."""
        self.newest_t = 0.0
        """The newest moment that was told, UTC seconds."""

    def read(self, limit: int = CHUNK) -> int:
        """Take in up to `limit` new bytes; say how many there were.

        A last line without its end waits for it. A file that became shorter or another one is begun anew.

        Raises:
            OSError: the file is there and cannot be read.
        """
        try:
            with self._path.open("rb") as file:
                status = os.fstat(file.fileno())
                if status.st_ino != self._inode or status.st_size < self._offset:
                    self._inode = status.st_ino
                    self._begin_anew()
                file.seek(self._offset)
                new = file.read(limit)
        except FileNotFoundError:
            return 0
        self._offset += len(new)
        self._take(new)
        return len(new)

    def _take(self, new: bytes) -> None:
        *lines, rest = (self._rest + new).split(b"\n")
        if lines and self._skips:
            lines, self._skips = lines[1:], False
        for line in lines:
            self._add(line)
        self._rest = rest
        if len(rest) > MAX_LINE:
            # The end of a line that is none; what follows up to its end belongs to it.
            self.num_damaged += not self._skips
            self._rest, self._skips = b"", True

    def _add(self, line: bytes) -> None:
        if not line.strip():
            return
        if len(line) > MAX_LINE:
            self.num_damaged += 1
            return
        try:
            told = _DECODER.decode(line)
        except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError):
            told = _loosely(line)
        if told is None or not 0 <= told.step < _MAX_STEP:
            self.num_damaged += 1
            return
        name = show_name(told.name)
        metric = self.metrics.get(name)
        if metric is None:
            if len(self.metrics) >= MAX_NAMES:
                self.num_left_out += 1
                return
            metric = self.metrics[name] = Metric()
        metric.add(told.step, math.nan if told.value is None else told.value)
        if 0 <= told.t < _MAX_T:
            self.newest_t = max(self.newest_t, told.t)

    def series(self, name: str, label: str) -> Series | None:
        """Give the line of a name for a chart, called `label`; None where there is none."""
        metric = self.metrics.get(name)
        points = () if metric is None else metric.points
        return Series(label, points) if points else None


def _loosely(line: bytes) -> _Line | None:
    """Read a line as Python writes it, with NaN and Infinity, which JSON lacks; None if it is none."""
    import json

    try:
        found: object = json.loads(line)
        return msgspec.convert(cast("dict[str, object]", found), _Line, strict=True)
    except (ValueError, msgspec.ValidationError, RecursionError):
        return None


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values)

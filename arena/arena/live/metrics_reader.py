"""Reads `metrics.jsonl` of running training runs incrementally, in bounded time and memory.

A line is `{"step": 400, "name": "loss", "value": 0.81, "t": 1763740800.0}`; `t` is in seconds since 1970
(UTC). Damaged lines are counted and skipped.
"""

from __future__ import annotations

import math
import os
from bisect import bisect_left
from typing import TYPE_CHECKING, Final, cast

import msgspec

from arena.live.labels import show_name
from arena.live.table_views import Point, Series

if TYPE_CHECKING:
    from pathlib import Path

FILE: Final = "metrics.jsonl"
"""Name of the file in the folder of a run."""
MAX_POINTS: Final = 1000
"""Number of points per series; at twice as many, pairs of neighbours are merged."""
MAX_NAMES: Final = 200
"""Maximum number of names in one file; lines of further names are only counted."""
MAX_LINE: Final = 1 << 16
"""Maximum bytes of a line; longer ones are damaged."""
CHUNK: Final = 4 << 20
"""Maximum number of bytes read at a time."""
_MAX_STEP: Final = 1 << 53
"""Maximum step: larger numbers are rejected, since floats could not distinguish them."""

_MAX_T: Final = 250_000_000_000.0
"""Latest accepted time in seconds since 1970 (UTC); `datetime` ends soon after."""


class _MetricsLine(msgspec.Struct):
    step: float
    name: str
    value: float | None
    """The value; None because some programs write null for NaN."""
    t: float = 0.0


_DECODER: Final = msgspec.json.Decoder(_MetricsLine)


class Metric:
    """The series of one name: its points, thinned out as it grows, and its exact last value."""

    def __init__(self) -> None:
        self._x: list[float] = []
        self._y: list[float] = []
        self._stride = 1
        self._pending: list[float] = []
        self.num_values = 0
        """Number of values, including those that are not finite."""
        self.num_unreal = 0
        """Number of values that were NaN or infinite; they are not in charts."""
        self.last_step = 0.0
        self.last_value = math.nan
        """The last value; NaN if it was not a number."""

    def add(self, step: float, value: float) -> None:
        """Add a value; a step below the last one, as in a resumed run, discards the points after it."""
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
        """Points by ascending step; after thinning, each is the mean of the same number of values."""
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
            # The last point has no neighbour: it becomes pending again, as the number of values that it is
            # the mean of.
            self._pending = [self._y.pop()] * (self._stride // 2)
            self._x.pop()
        self._y = [(one + two) / 2 for one, two in zip(self._y[::2], self._y[1::2], strict=True)]
        self._x = self._x[1::2]


class MetricsReader:
    """One metrics file that is followed; `read` adds its new lines."""

    def __init__(self, path: Path) -> None:
        """Follow a file, which need not exist yet."""
        self._path = path
        self._inode = 0
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._offset = 0
        self._rest = b""
        self._skips = False
        self.metrics: dict[str, Metric] = {}
        """Series by name, in the order of their first line."""
        self.num_damaged = 0
        """Number of damaged lines."""
        self.num_left_out = 0
        """Number of lines with names beyond `MAX_NAMES`."""
        self.newest_t = 0.0
        """Latest time in a line, in seconds since 1970 (UTC)."""

    def read(self, limit: int = CHUNK) -> int:
        """Read up to `limit` new bytes; return how many there were.

        An incomplete last line waits for its end. A file that was truncated or replaced is read from its
        start.

        Raises:
            OSError: the file exists but cannot be read.
        """
        try:
            with self._path.open("rb") as file:
                status = os.fstat(file.fileno())
                # A resumed run replaces the file by one without the steps that it repeats.
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
            # The line is too long: drop this part now, and skip the rest when it arrives.
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
        """Return the series of a name for a chart, with the title `label`; None if it has no points."""
        metric = self.metrics.get(name)
        points = () if metric is None else metric.points
        return Series(label, points) if points else None


def _loosely(line: bytes) -> _MetricsLine | None:
    """Parse a line with Python's extensions NaN and Infinity, which JSON lacks; None if it is invalid."""
    import json

    try:
        found: object = json.loads(line)
        return msgspec.convert(cast("dict[str, object]", found), _MetricsLine, strict=True)
    except (ValueError, msgspec.ValidationError, RecursionError):
        return None


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values)

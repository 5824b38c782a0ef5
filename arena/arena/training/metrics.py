"""The measurements of a run: `metrics.jsonl`, one JSON object per line, and learning curves as images.

Example: `{"step":400,"name":"loss","value":0.81,"t":1782000000.123}`.
"""

from __future__ import annotations

import io
import json
import math
import os
import time
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TextIO
from xml.sax.saxutils import escape

from arena.training.files import named, write_whole

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    Points = list[tuple[int, float]]

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
        with named(self._path):
            self._file.close()

    def add(self, step: int, name: str, value: float) -> Figure:
        """Append a measurement, visible to readers at once."""
        number = float(value)
        # NaN and infinity are not JSON, so other programs could not read the file.
        figure = Figure(step, name, number if math.isfinite(number) else None, round(time.time(), 3))
        with named(self._path):
            self._file.write(_line(figure))
            self._file.flush()
        return figure

    def sync(self) -> None:
        """Sync the file to disk."""
        with named(self._path):
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


CURVES = "curves"
_WIDTH, _HEIGHT = 480, 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 20, 34, 30
_MOST = 400
"""Maximum number of points drawn per curve; longer curves are thinned."""
_FONT = 12
_SCALE = 2
"""Pixels of the PNG per SVG unit."""
_ANCHORS = {"start": "ls", "end": "rs"}
"""SVG text anchors and the corresponding anchors of Pillow, relative to the base line."""


class Stroke(NamedTuple):
    """A polyline."""

    points: tuple[tuple[float, float], ...]
    colour: str
    width: float


class ChartLabel(NamedTuple):
    """A text whose start or end is at a position."""

    x: float
    y: float
    anchor: str
    words: str


class CurveChart(NamedTuple):
    """The shapes of one measurement's chart."""

    strokes: tuple[Stroke, ...]
    labels: tuple[ChartLabel, ...]


def draw(folder: Path) -> None:
    """Draw the curves of a run into its folder, if it has measurements."""
    series: dict[str, Points] = {}
    for figure in read(folder):
        if figure.value is not None:
            series.setdefault(figure.name, []).append((figure.step, figure.value))
    if not series:
        return
    charts = charts_of(series)
    write_whole(folder / f"{CURVES}.svg", svg(charts).encode())
    if find_spec("PIL") is not None:
        write_whole(folder / f"{CURVES}.png", png(charts))


def charts_of(series: dict[str, Points]) -> list[CurveChart]:
    """Return one chart per measurement, stacked vertically; each must have at least one point."""
    return [_chart(name, points, index * _HEIGHT) for index, (name, points) in enumerate(series.items())]


def svg(charts: list[CurveChart]) -> str:
    """Render charts as SVG."""
    height = _HEIGHT * len(charts)
    size = f'width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}"'
    shapes: list[str] = []
    for chart in charts:
        for points, colour, width in chart.strokes:
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            shapes.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"/>')
        for x, y, anchor, words in chart.labels:
            shapes.append(f'<text x="{x}" y="{y}" text-anchor="{anchor}">{escape(words)}</text>')
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="{_FONT}">',
            f'<rect width="{_WIDTH}" height="{height}" fill="white"/>',
            *shapes,
            "</svg>\n",
        ]
    )


def png(charts: list[CurveChart]) -> bytes:
    """Render charts as PNG; needs Pillow."""
    # Pillow is installed only with the training extras; it includes a font.
    image: Any = import_module("PIL.Image")
    drawing: Any = import_module("PIL.ImageDraw")
    font: Any = import_module("PIL.ImageFont").load_default(_FONT * _SCALE)
    canvas = image.new("RGB", (_WIDTH * _SCALE, _HEIGHT * _SCALE * len(charts)), "white")
    pen = drawing.Draw(canvas)
    for chart in charts:
        for points, colour, width in chart.strokes:
            scaled = [(x * _SCALE, y * _SCALE) for x, y in points]
            pen.line(scaled, fill=colour, width=round(width * _SCALE), joint="curve")
        for x, y, anchor, words in chart.labels:
            place = (x * _SCALE, y * _SCALE)
            pen.text(place, words, fill="black", font=font, anchor=_ANCHORS[anchor])
    file = io.BytesIO()
    canvas.save(file, "PNG")
    return file.getvalue()


def _chart(name: str, points: Points, top: int) -> CurveChart:
    shown = points[:: len(points) // _MOST + 1]
    if shown[-1] != points[-1]:
        shown.append(points[-1])
    steps, values = [step for step, _ in shown], [value for _, value in shown]
    low, high = min(values), max(values)
    right, bottom = _WIDTH - _RIGHT, top + _HEIGHT - _BOTTOM
    curve = tuple(
        (
            _between(step, steps[0], steps[-1], _LEFT, right),
            _between(value, low, high, bottom, top + _TOP),
        )
        for step, value in shown
    )
    axes = ((_LEFT, top + _TOP), (_LEFT, bottom), (right, bottom))
    return CurveChart(
        strokes=(Stroke(axes, "#888888", 1), Stroke(curve, "#1f6feb", 1.5)),
        labels=(
            ChartLabel(_LEFT, top + 20, "start", name),
            ChartLabel(_LEFT - 6, bottom, "end", f"{low:.4g}"),
            ChartLabel(_LEFT - 6, top + _TOP + 8, "end", f"{high:.4g}"),
            ChartLabel(_LEFT, bottom + 16, "start", f"{steps[0]:,}"),
            ChartLabel(right, bottom + 16, "end", f"step {steps[-1]:,}"),
        ),
    )


def _between(value: float, low: float, high: float, start: float, end: float) -> float:
    """Map `[low, high]` linearly to `[start, end]`; an empty range maps to the middle."""
    share = (value - low) / (high - low) if high > low else 0.5
    return start + share * (end - start)

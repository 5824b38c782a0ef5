"""The learning curves of a run as images, one chart per measurement: SVG, and PNG if Pillow is installed."""

from __future__ import annotations

import io
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.sax.saxutils import escape

from arena.training import metrics
from arena.training.files import write_whole

if TYPE_CHECKING:
    from pathlib import Path

    Points = list[tuple[int, float]]

NAME = "curves"
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
    for figure in metrics.read(folder):
        if figure.value is not None:
            series.setdefault(figure.name, []).append((figure.step, figure.value))
    if not series:
        return
    charts = charts_of(series)
    write_whole(folder / f"{NAME}.svg", svg(charts).encode())
    if find_spec("PIL") is not None:
        write_whole(folder / f"{NAME}.png", png(charts))


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

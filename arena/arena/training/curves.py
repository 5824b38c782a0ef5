"""The curves of a run as one SVG picture: a small chart for each figure."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from arena.training import metrics
from arena.training.files import write_whole

if TYPE_CHECKING:
    from pathlib import Path

    Points = list[tuple[int, float]]

NAME = "curves.svg"
_WIDTH, _HEIGHT = 480, 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 20, 34, 30
_MOST = 400
"""Points of a curve; of more, every second, third, … is drawn."""


def draw(folder: Path) -> Path | None:
    """Draw the curves of a run; None where it has no figures yet."""
    series: dict[str, Points] = {}
    for figure in metrics.read(folder):
        if figure.value is not None:
            series.setdefault(figure.name, []).append((figure.step, figure.value))
    if not series:
        return None
    return write_whole(folder / NAME, picture(series).encode())


def picture(series: dict[str, Points]) -> str:
    """Give the picture; `series` has at least one point for each name."""
    charts = [_chart(name, points, index * _HEIGHT) for index, (name, points) in enumerate(series.items())]
    height = _HEIGHT * len(series)
    size = f'width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">',
            f'<rect width="{_WIDTH}" height="{height}" fill="white"/>',
            *charts,
            "</svg>\n",
        ]
    )


def _chart(name: str, points: Points, top: int) -> str:
    shown = points[:: len(points) // _MOST + 1]
    if shown[-1] != points[-1]:
        shown.append(points[-1])
    steps, values = [step for step, _ in shown], [value for _, value in shown]
    low, high = min(values), max(values)
    right, bottom = _WIDTH - _RIGHT, top + _HEIGHT - _BOTTOM
    path = " ".join(
        f"{_between(step, steps[0], steps[-1], _LEFT, right):.1f},"
        f"{_between(value, low, high, bottom, top + _TOP):.1f}"
        for step, value in shown
    )
    text = [
        (_LEFT, top + 20, "start", escape(name)),
        (_LEFT - 6, bottom, "end", f"{low:.4g}"),
        (_LEFT - 6, top + _TOP + 8, "end", f"{high:.4g}"),
        (_LEFT, bottom + 16, "start", f"{steps[0]:,}"),
        (right, bottom + 16, "end", f"step {steps[-1]:,}"),
    ]
    return "\n".join(
        [
            f'<path d="M{_LEFT},{top + _TOP} V{bottom} H{right}" fill="none" stroke="#888"/>',
            f'<polyline points="{path}" fill="none" stroke="#1f6feb" stroke-width="1.5"/>',
            *(f'<text x="{x}" y="{y}" text-anchor="{anchor}">{words}</text>' for x, y, anchor, words in text),
        ]
    )


def _between(value: float, low: float, high: float, start: float, end: float) -> float:
    """Map `[low, high]` to `[start, end]`; a single value to the middle."""
    share = (value - low) / (high - low) if high > low else 0.5
    return start + share * (end - start)

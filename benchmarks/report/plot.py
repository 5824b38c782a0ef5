"""Draws bars on a logarithmic axis as SVG, for light and dark pages; the same bars give the same bytes."""

from __future__ import annotations

from math import ceil, floor, log10
from typing import TYPE_CHECKING, NamedTuple
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

WIDTH, LABEL, NUMBER, STEP, TOP, BAR = 800, 300, 70, 38, 66, 16
"""Pixels: width of the picture, of the names, of the figures after the bars; distance of bars; top margin;
height of a bar."""
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.title { font-size: 15px; font-weight: 600 }
.minor { fill: #59636e; font-size: 12px }
.grid { stroke: #d1d9e0 }
.bar { fill: #8c959f }
.own { fill: #0969da }
.low { fill: #bc4c00 }
.spread { stroke: #1f2328; stroke-width: 1.5 }
.asked { stroke: #cf222e; stroke-width: 2.5 }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc }
.minor { fill: #9198a1 }
.grid { stroke: #3d444d }
.bar { fill: #656c76 }
.own { fill: #4493f8 }
.low { fill: #f0883e }
.spread { stroke: #f0f6fc }
.asked { stroke: #ff7b72 }
}
"""


class Bar(NamedTuple):
    """One bar."""

    name: str
    below: str
    """A second, smaller line below the name; may be empty."""
    value: float
    kind: str
    """Style: `own`, `low` (below the target) or `bar`."""
    least: float | None = None
    most: float | None = None
    asked: float | None = None


def draw(title: str, note: str, bars: Sequence[Bar], base: float | None = None) -> str:
    """Return the picture; `bars` must not be empty. Bars start at `base`, or at the left end of the axis."""
    numbers = [
        number
        for bar in bars
        for number in (bar.value, bar.least, bar.most, bar.asked)
        if number is not None and number > 0
    ]
    low, high = floor(log10(min(numbers))), ceil(log10(max(numbers)))
    axis = _Axis(low, max(high, low + 1), base)
    height = TOP + STEP * len(bars) + 12
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}</style>",
        f'<text class="title" x="8" y="20">{escape(title)}</text>',
        f'<text class="minor" x="8" y="40">{escape(note)}</text>',
        *axis.grid(height),
        *(part for index, bar in enumerate(bars) for part in _bar(bar, TOP + STEP * index, axis)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


class _Axis:
    """Powers of ten from left to right."""

    def __init__(self, low: int, high: int, base: float | None) -> None:
        self._low, self._high = low, high
        self.start = self.x(base or 10**low)

    def x(self, value: float) -> float:
        share = (log10(value) - self._low) / (self._high - self._low)
        return round(LABEL + share * (WIDTH - LABEL - NUMBER), 1)

    def grid(self, height: int) -> Iterator[str]:
        for power in range(self._low, self._high + 1):
            x = self.x(10**power)
            yield f'<line class="grid" x1="{x}" y1="{TOP - 2}" x2="{x}" y2="{height - 8}"/>'
            yield f'<text class="minor" x="{x}" y="{TOP - 6}" text-anchor="middle">{short(10**power)}</text>'


def _bar(bar: Bar, top: int, axis: _Axis) -> Iterator[str]:
    middle = top + STEP / 2
    end = axis.x(bar.value)
    start, width = min(axis.start, end), max(1, round(abs(end - axis.start), 1))
    place, up = f'x="{LABEL - 10}" text-anchor="end"', 3 if bar.below else -4
    yield f'<text {place} y="{middle - up}">{escape(bar.name)}</text>'
    if bar.below:
        yield f'<text {place} y="{middle + 12}" class="minor">{escape(bar.below)}</text>'
    yield (
        f'<rect class="{bar.kind}" x="{start}" y="{middle - BAR / 2}" rx="2" width="{width}" height="{BAR}"/>'
    )
    tip = max(axis.start, end)
    if bar.least and bar.most:
        left, right = axis.x(bar.least), axis.x(bar.most)
        yield f'<line class="spread" x1="{left}" y1="{middle}" x2="{right}" y2="{middle}"/>'
        tip = max(tip, right)
    if bar.asked:
        x = axis.x(bar.asked)
        yield f'<line class="asked" x1="{x}" y1="{middle - 12}" x2="{x}" y2="{middle + 12}"/>'
        tip = max(tip, x) if x - tip < NUMBER else tip
    yield f'<text class="minor" x="{round(tip + 6, 1)}" y="{middle + 4}">{short(bar.value)}</text>'


def short(value: float) -> str:
    """Format a figure with three significant digits."""
    for size, name in ((1e6, " M"), (1e3, " k")):
        if value >= size:
            return f"{float(f'{value / size:.3g}'):g}{name}"
    return f"{float(f'{value:.3g}'):g}"

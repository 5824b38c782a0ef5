"""Ratings as strokes: the point estimate and its 95 % interval on one scale for a whole table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from arena.pages.html import Html, el

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.live.tables import StandingRow

_WIDTH: Final = 160
_MIDDLE: Final = 8
_PAD: Final = 4


def scale_of(rows: Sequence[StandingRow]) -> tuple[float, float]:
    """Return the lowest and the highest Elo that the strokes of a table reach; at least 100 apart."""
    ends = [row.elo for row in rows]
    ends += [end for row in rows for end in (row.elo_low, row.elo_high) if end is not None]
    low, high = min(ends, default=1450.0), max(ends, default=1550.0)
    spare = max(0.0, 100.0 - (high - low)) / 2
    return low - spare, high + spare


def stroke(row: StandingRow, scale: tuple[float, float]) -> Html:
    """Return the stroke of a rating; an end that no result bounds runs out of the picture."""

    def place(elo: float) -> float:
        return round(_PAD + (_WIDTH - 2 * _PAD) * (elo - scale[0]) / (scale[1] - scale[0]), 1)

    low = 0.0 if row.elo_low is None else place(row.elo_low)
    high = float(_WIDTH) if row.elo_high is None else place(row.elo_high)
    return el(
        "svg",
        el("line", x1=low, x2=high, y1=_MIDDLE, y2=_MIDDLE, class_="span"),
        el("circle", cx=place(row.elo), cy=_MIDDLE, r=3.5, class_="point"),
        viewBox=f"0 0 {_WIDTH} {2 * _MIDDLE}",
        class_="stroke",
        aria_hidden="true",
    )

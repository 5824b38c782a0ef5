"""Ratings as strokes: the point estimate and its 95 % interval, on one scale for a whole table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from arena.pages.html import Html, el

if TYPE_CHECKING:
    from collections.abc import Iterable

_WIDTH: Final = 160
_MIDDLE: Final = 8
_PAD: Final = 4
"""Width, middle line and horizontal padding of the picture, in its units."""


class RatingStroke(NamedTuple):
    """A rating with the ends of its interval; None for an end that no result bounds."""

    elo: float
    low: float | None
    high: float | None


def scale_of(strokes: Iterable[RatingStroke]) -> tuple[float, float]:
    """Return the lowest and the highest Elo that strokes reach; at least 100 apart."""
    ends = [end for stroke in strokes for end in stroke if end is not None]
    low, high = min(ends, default=1450.0), max(ends, default=1550.0)
    spare = max(0.0, 100.0 - (high - low)) / 2
    return low - spare, high + spare


def drawn(stroke: RatingStroke, scale: tuple[float, float]) -> Html:
    """Return the picture of a stroke; an unbounded end reaches the edge of the picture."""

    def place(elo: float) -> float:
        return round(_PAD + (_WIDTH - 2 * _PAD) * (elo - scale[0]) / (scale[1] - scale[0]), 1)

    low = 0.0 if stroke.low is None else place(stroke.low)
    high = float(_WIDTH) if stroke.high is None else place(stroke.high)
    return el(
        "svg",
        el("path", d=f"M{low:g} {_MIDDLE}H{high:g}"),
        # A line of length zero with round ends is drawn as a dot.
        el("path", d=f"M{place(stroke.elo):g} {_MIDDLE}h0", class_="at"),
        viewBox=f"0 0 {_WIDTH} {2 * _MIDDLE}",
        class_="stroke",
        aria_hidden="true",
    )

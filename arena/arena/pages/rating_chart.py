"""Ratings over time as a picture: a line with the band of its 95 % intervals."""

from __future__ import annotations

from math import ceil, floor
from typing import TYPE_CHECKING, Final

from arena.pages.html import Html, el, join
from arena.pages.numbers import day_text, iso_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.results.bot_page import CurvePoint

_WIDTH: Final = 416
_HEIGHT: Final = 130
_LEFT: Final = 40
_RIGHT: Final = 8
_TOP: Final = 8
_BOTTOM: Final = 22
"""Width of the picture, height of the plot, and margins, in units of the picture."""
_STEPS: Final = (25, 50, 100, 200, 500, 1000, 5000)
"""Possible distances between two grid lines, in Elo."""
_MOST_LINES: Final = 5
"""Maximum number of grid steps across the range of ratings."""
_FARTHEST: Final = 600.0
"""Elo from the line of ratings beyond which the band is cut: the first points are very uncertain."""


def rating_chart(points: Sequence[CurvePoint], title: Html) -> Html:
    """Return the ratings of a bot in one tournament over time.

    Args:
        points: the ratings, oldest first; at least one.
        title: element below the picture, before the figures.
    """
    first, last = points[0], points[-1]
    low = max(min(point.elo - point.error for point in points), min(p.elo for p in points) - _FARTHEST)
    high = min(max(point.elo + point.error for point in points), max(p.elo for p in points) + _FARTHEST)
    step = next((step for step in _STEPS if (high - low) / step <= _MOST_LINES), _STEPS[-1])
    bottom, top = step * floor(low / step), step * max(ceil(high / step), floor(low / step) + 1)

    def x(point: CurvePoint) -> float:
        span = max(1, last.num_matches - first.num_matches)
        return round(_LEFT + (_WIDTH - _LEFT - _RIGHT) * (point.num_matches - first.num_matches) / span, 1)

    def y(elo: float) -> float:
        inside = min(max(elo, bottom), top)
        return round(_TOP + _HEIGHT * (top - inside) / (top - bottom), 1)

    upper = [f"{x(point)},{y(point.elo + point.error)}" for point in points]
    lower = [f"{x(point)},{y(point.elo - point.error)}" for point in reversed(points)]
    return el(
        "figure",
        el(
            "svg",
            *(_line(elo, y(elo)) for elo in range(bottom, top + 1, step)),
            el("polygon", points=" ".join([*upper, *lower]), class_="band"),
            el("polyline", points=" ".join(f"{x(p)},{y(p.elo)}" for p in points), class_="line point"),
            el("circle", cx=x(last), cy=y(last.elo), r=3.5, class_="point"),
            el("text", first.num_matches, x=_LEFT, y=_TOP + _HEIGHT + 17, class_="tick start"),
            el(
                "text", f"{last.num_matches} matches", x=_WIDTH - _RIGHT, y=_TOP + _HEIGHT + 17, class_="tick"
            ),
            viewBox=f"0 0 {_WIDTH} {_TOP + _HEIGHT + _BOTTOM}",
            role="img",
            class_="curve",
            aria_label=f"From {_rating(first)} to {_rating(last)}",
        ),
        el(
            "figcaption",
            title,
            el("span", _rating(first), class_="quiet"),
            el("span", _rating(last)),
            el("time", day_text(last.ended_at), datetime=iso_text(last.ended_at), class_="quiet")
            if last.ended_at
            else None,
        ),
    )


def _rating(point: CurvePoint) -> str:
    mark = "?" if point.rests_on_prior else ""
    return f"{point.elo:.0f}{mark} +/- {point.error:.0f} after {point.num_matches} matches"


def _line(elo: int, y: float) -> Html:
    return join(
        el("line", x1=_LEFT, x2=_WIDTH, y1=y, y2=y, class_="tick"),
        el("text", elo, x=_LEFT - 6, y=y + 4, class_="tick"),
    )

"""The evaluations of both bots as a curve over the plies of a match."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

from arena.pages.html import Html, el, join

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.live.views import MatchView, MoveView

# Width of the picture, height of the plot, left and top margins, in units of the picture.
_WIDTH: Final = 416
_HEIGHT: Final = 110
_LEFT: Final = 34
_TOP: Final = 8
_LEAST: Final = 2
"""Minimum number of points of a line."""


def curve(
    match: MatchView,
    judged: Sequence[float | None] = (),
    judge: str = "",
    *,
    is_linked: bool = True,
) -> Html | None:
    """Return the evaluations of each bot, in percent for the first player; None if there are none.

    Args:
        match: the match with all its moves.
        judged: a judge's evaluation of the position before each ply, in percent for the first player; None if
            unknown.
        judge: name of the judge; empty if the match has not been graded.
        is_linked: whether the plies link to those of a replay.
    """
    said = [move for move in match.moves if move.eval is not None]
    if not said and not judge:
        return None
    num = max(match.ply, 2)
    lines = [_line([move for move in said if move.player == player], player, num) for player in (0, 1)]
    return el(
        "figure",
        el(
            "svg",
            *(_tick(percent) for percent in (0, 50, 100)),
            _run([(ply, at) for ply, at in enumerate(judged) if ply and at is not None], "j", num),
            *lines,
            *(_mark(move, num) for move in match.moves if move.mark not in {"", "#"}),
            *(_column(ply, num) for ply in range(1, match.ply + 1) if is_linked),
            viewBox=f"0 0 {_WIDTH} {_HEIGHT + 2 * _TOP}",
            role="img",
            class_="curve",
            aria_label="What both bots expected; the numbers stand in the table of moves.",
        ),
        el(
            "figcaption",
            el("span", match.seats[0].name, class_="key a"),
            el("span", match.seats[1].name, class_="key b"),
            el("span", judge, class_="key j") if judge else None,
            el("span", "percent for the first player, by the mover's own eval", class_="quiet"),
        ),
    )


def _x(ply: float, num: int) -> float:
    return round(_LEFT + (ply - 1) * (_WIDTH - _LEFT - 6) / (num - 1), 1)


def _y(percent: float) -> float:
    return round(_TOP + _HEIGHT * (1 - percent / 100), 1)


def _tick(percent: int) -> Html:
    return join(
        el("line", x1=_LEFT, x2=_WIDTH, y1=_y(percent), y2=_y(percent), class_="tick"),
        el("text", f"{percent}", x=_LEFT - 6, y=_y(percent) + 4, class_="tick"),
    )


def _line(moves: list[MoveView], player: int, num: int) -> Html:
    """Return the points of one bot and the line through them, interrupted at plies without an evaluation."""
    name = "ab"[player]
    runs = [
        [(move.ply, move.eval or 0.0) for _, move in run]
        for _, run in groupby(enumerate(moves), key=lambda each: each[1].ply - 2 * each[0])
    ]
    paths = (_run(run, name, num) for run in runs)
    dots = (
        el("circle", cx=_x(ply, num), cy=_y(at), r=2.5, class_=f"dot {name}")
        for run in runs
        for ply, at in run
    )
    return join(*paths, *dots)


def _run(points: Sequence[tuple[int, float]], name: str, num: int) -> Html | None:
    """Return the line through points (ply from 1, percent); None for a single point."""
    if len(points) < _LEAST:
        return None
    path = " ".join(f"{_x(ply, num)},{_y(at)}" for ply, at in points)
    return el("polyline", points=path, class_=f"line {name}")


def _mark(move: MoveView, num: int) -> Html:
    return el("text", move.mark, x=_x(move.ply, num), y=_TOP + 11, class_="mark")


def _column(ply: int, num: int) -> Html:
    """Return a strip over one ply: a link to the ply, highlighted while the ply is shown."""
    width = round((_WIDTH - _LEFT - 6) / (num - 1), 1)
    strip = el(
        "rect",
        x=round(_x(ply, num) - width / 2, 1),
        y=_TOP,
        width=width,
        height=_HEIGHT,
        class_=f"strip c{ply}",
    )
    return el("a", strip, href=f"#p{ply}", tabindex="-1", aria_hidden="true")

"""Boards of running matches: small pictures that share one empty board, with clocks and evaluations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from arena.errors import ArenaError
from arena.live.geometry import edges, find_game, geometry
from arena.live.plain import clock_text
from arena.pages.html import Html, breakable, el, join
from arena.pages.svg_board import CELL, EDGE, TOP, centre, edge_names, ground, kind_of, size_of, spoken

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.live.views import MatchView

GROUND: Final = "ground"
"""Id of the empty board, which a page contains once."""
LOW_MS: Final = 3000
"""Milliseconds below which a clock is highlighted."""
_ARM: Final = 11
_RING, _LAST, _WON = 12, 5, 17
"""Radii and half widths, in units of the picture."""


def shared_ground(game: str) -> Html | None:
    """Return the empty board of a game, to be put on a page once; None if the game is not installed."""
    try:
        shape = geometry(game)
        names = edges(find_game(game))
    except ArenaError:
        return None
    kind = kind_of(shape, gravity=shape.kind == "columns")
    drawn = el("g", ground(shape, kind), edge_names(shape, names), id=GROUND, class_=f"board {kind}")
    return el("svg", el("defs", drawn), width=0, height=0, class_="shared", aria_hidden="true")


def live_board(match: MatchView, *, has_edges: bool = False) -> Html:
    """Return the position of a match, drawn over the empty board of the page.

    Args:
        match: a match of the game whose empty board the page contains.
        has_edges: whether columns and rows have names.
    """
    if not match.rows:
        return el("p", match.trouble or "The game is not installed here, so it has no board.", class_="note")
    kind = kind_of(match, gravity=geometry(match.game).kind == "columns")
    width, height = size_of(match)
    # There are no labels above a board, so its top margin is small.
    sides, cut = (0, TOP) if has_edges else (EDGE - 2, EDGE - 2)
    return el(
        "svg",
        el("use", href=f"#{GROUND}"),
        _marks(match) if kind == "marks" else _stones(match),
        _last(match, kind),
        *(_won(match, cell) for cell in match.winning),
        viewBox=f"{sides} {cut} {width - 2 * sides} {height - cut - sides}",
        role="img",
        class_=f"board {kind}",
        aria_label=spoken(match),
    )


def gauge(percent: float | None, label: str) -> Html:
    """Return a bar, filled from the top by the first player's percentage; empty without an evaluation."""
    filled = None if percent is None else el("rect", width=8, height=round(percent, 1), class_="part")
    return el(
        "svg",
        el("title", f"{label}: {'no evaluation' if percent is None else f'{percent:.0f} % for the first'}"),
        el("rect", width=8, height=100, class_="whole"),
        filled,
        el("path", d="M0 50H8", class_="half"),
        viewBox="0 0 8 100",
        preserveAspectRatio="none",
        class_="gauge" if filled else "gauge none",
    )


def player(match: MatchView, number: int, clock_now: float | None, address: str | None = None) -> Html:
    """Return the line of a player: stone, name, evaluation, clock, and whether it is to move.

    Args:
        match: the match.
        number: 0 or 1.
        clock_now: UTC seconds at which a running clock is shown; None shows it as at the last move.
        address: address of the bot's page.
    """
    seat = match.seats[number]
    is_to_move = match.is_played and match.to_move == number
    is_winner = match.outcome == ("first", "second")[number]
    name = breakable(seat.name)
    words = "seat" + (" turn" if is_to_move else "") + (" won" if is_winner else "")
    return el(
        "div",
        el("span", class_=f"chip {'ab'[number]}"),
        el("span", el("a", name, href=address) if address else name, class_="who"),
        el("span", "✓", title="won", class_="tick") if is_winner else None,
        None
        if seat.eval is None
        else el("small", f"{seat.eval:.0f} %", title="the first player's chance, as this bot says"),
        _clock(match, number, clock_now),
        class_=words,
    )


def _clock(match: MatchView, number: int, clock_now: float | None) -> Html | None:
    seat = match.seats[number]
    if seat.clock_ms is None:
        return None
    is_running = match.is_played and match.to_move == number
    left = seat.clock_ms
    if clock_now is not None:
        left = match.remaining_ms(number, clock_now) or 0
    # The page's script counts down to this time; without the script the text stays as it is.
    ends = round(match.clock_t * 1000) + seat.clock_ms + match.free_ms if is_running else None
    low = " low" if left < LOW_MS else ""
    return el("b", clock_text(left), class_=f"clock{low}", data_end=ends, data_most=left if ends else None)


def _dots(match: MatchView, cells: Sequence[int]) -> str:
    """Return a path of zero-length segments, which round line caps turn into discs."""
    return "".join(f"M{x} {y}h0" for x, y in (centre(match, cell) for cell in cells))


def _cells(match: MatchView, stone: int) -> list[int]:
    return [cell for cell, found in enumerate(match.cells) if found == stone]


def _stones(match: MatchView) -> Html:
    first, second = (_dots(match, _cells(match, stone)) for stone in (1, 2))
    return el(
        "g",
        *(el("path", d=first, class_=f"{part} a") for part in ("rim", "disc") if first),
        # The second player's stones have a ring, because many people cannot tell stones apart by colour.
        *(el("path", d=second, class_=f"{part} b") for part in ("rim", "disc", "band", "core") if second),
        class_="stones",
    )


def _marks(match: MatchView) -> Html:
    crosses = "".join(
        f"M{x - _ARM} {y - _ARM}l{2 * _ARM} {2 * _ARM}m0 {-2 * _ARM}l{-2 * _ARM} {2 * _ARM}"
        for x, y in (centre(match, cell) for cell in _cells(match, 1))
    )
    rings = (centre(match, cell) for cell in _cells(match, 2))
    return join(
        el("path", d=crosses, class_="mark a"),
        *(el("circle", cx=x, cy=y, r=_RING, class_="mark b") for x, y in rings),
    )


def _last(match: MatchView, kind: str) -> Html | None:
    if match.last_cell is None:
        return None
    x, y = centre(match, match.last_cell)
    if kind == "marks":
        half = CELL // 2 - 2
        return el("rect", x=x - half, y=y - half, width=2 * half, height=2 * half, rx=4, class_="newest")
    return el("circle", cx=x, cy=y, r=_LAST, class_="newest")


def _won(match: MatchView, cell: int) -> Html:
    x, y = centre(match, cell)
    return el("circle", cx=x, cy=y, r=_WON, class_="won")

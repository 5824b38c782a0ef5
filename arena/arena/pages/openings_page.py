"""The page of a position: the next moves in stored matches, and their scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.errors import ArenaError
from arena.live.geometry import edges, find_game, geometry
from arena.live.opening_views import position
from arena.pages.frame import PageHead, page, section
from arena.pages.html import Html, el, join
from arena.pages.numbers import percent_text, triple_text
from arena.pages.page_tables import notes, table
from arena.pages.strokes import RatingStroke, drawn
from arena.pages.svg_board import board

if TYPE_CHECKING:
    from arena.live.opening_views import OpeningsView
    from arena.pages.links import Links
    from arena.watching.page_views import OpeningsPage

_SIDES = ("first", "second")


def openings_page(view: OpeningsPage, links: Links, twin: str = "") -> Html:
    """Return the page of a position, with links to the positions before and after it."""
    found = view.position
    if not found.game:
        content: list[Html | None] = [el("p", "No rated match has been played yet.", class_="note")]
    else:
        content = [
            _games(view, links),
            el(
                "p",
                el("span", found.game),
                el("span", f"{found.games} match{'' if found.games == 1 else 'es'}"),
                el("span", f"the {_SIDES[found.player]} player moves"),
                class_="summary",
            ),
            el(
                "div",
                el("div", _picture(found), _line(found, links), class_="left"),
                el("div", section("What was played next", _next_moves(found, links)), class_="right"),
                class_="replay",
            ),
        ]
    return page(links, PageHead("Openings", twin), content)


def _games(view: OpeningsPage, links: Links) -> Html | None:
    """Return links to the initial positions of all games; None if there is only one game."""
    if len(view.games) <= 1:
        return None
    items = (
        el("a", game, href=links.openings(game), aria_current="page" if game == view.position.game else None)
        for game in view.games
    )
    return el("nav", *items, class_="tabs", aria_label="Games")


def _picture(found: OpeningsView) -> Html:
    match = position(found.game, found.actions)
    try:
        is_falling = geometry(found.game).kind == "columns"
        names = edges(find_game(found.game))
    except ArenaError:
        is_falling, names = False, ((), ())
    return board(match, gravity=is_falling, names=names)


def _line(found: OpeningsView, links: Links) -> Html:
    """Return the moves that lead to the position, each with a link to the position after it."""
    steps = [el("a", "start", href=links.openings(found.game))]
    steps += [
        el("a", move, href=links.openings(found.game, " ".join(found.line[:number])))
        for number, move in enumerate(found.line, 1)
    ]
    return el("nav", el("ol", *(el("li", step) for step in steps)), class_="way", aria_label="Moves so far")


def _next_moves(found: OpeningsView, links: Links) -> Html:
    if not found.rows:
        return join(el("p", "No rated match continues from here.", class_="note"), notes(found.notes))
    moved = sum(row.games for row in found.rows)
    heads = [
        ("Move", "name"),
        ("Matches", "n"),
        ("Share", "n"),
        ("Score", "n"),
        ("95 % interval, 0 to 100 %", "stroke"),
        ("W-D-L", "n"),
        ("Different", "n"),
        ("Given", "n"),
    ]
    rows = (
        [
            join(
                # A single match has no statistics, and a link would let a crawler walk through every stored
                # move.
                el("a", row.move, href=links.openings(found.game, " ".join((*found.line, row.move))))
                if row.games > 1
                else row.move,
                f" ({' '.join(row.twins)})" if row.twins else None,
            ),
            row.games,
            f"{100 * row.games / moved:.0f}%",
            percent_text(row.score),
            join(
                drawn(RatingStroke(row.score, row.score_low, row.score_high), (0.0, 1.0)),
                el("small", f"{100 * row.score_low:.1f} to {100 * row.score_high:.1f}", class_="quiet"),
            ),
            triple_text((row.wins, row.draws, row.losses)),
            row.different,
            row.given or "",
        ]
        for row in found.rows
    )
    return join(
        table(heads, rows, "Next moves, most played first"),
        el(
            "p",
            "Scores, wins, draws and losses are those of the side that moves. Different: matches that differ "
            "in play; the interval counts equal ones once. Given: moves that an opening gave.",
            class_="note",
        ),
        notes(found.notes),
    )

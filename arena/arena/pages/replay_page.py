"""The page of a stored match: board, curve and moves; each ply has an address."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.errors import ArenaError
from arena.live.geometry import edges, find_game, geometry
from arena.pages.curve import curve
from arena.pages.frame import Crumb, PageHead, page, section
from arena.pages.html import Html, el, join
from arena.pages.numbers import day_text, iso_text
from arena.pages.page_tables import bot_link
from arena.pages.svg_board import board

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arena.live.views import MatchView, MoveView
    from arena.pages.links import Links
    from arena.watching.page_views import MatchPage

_START, _BACK, _ON, _END = "\u00ab", "\u2039", "\u203a", "\u00bb"
"""Texts of the links to the first, previous, next and last ply."""
_SECOND_MS = 1000
_MARKS = frozenset({"?", "??", "~"})
"""Marks of the moves that the keys b and B jump to."""


def match_page(view: MatchPage, links: Links, twin: str = "") -> Html:
    """Return the page of a match."""
    match = view.match
    title = f"{match.seats[0].name} {match.result or 'against'} {match.seats[1].name}"
    content = [
        _targets(match.ply),
        el("p", view.ending, class_="ending"),
        el(
            "div",
            el("div", _picture(match), _steps(view), curve(match, view.judged, view.judge), class_="left"),
            el("div", _moves(view), _marks(view), _facts(view, links), class_="right"),
            class_="replay",
        ),
    ]
    way = [
        Crumb(view.tournament, links.event(view.tournament)),
        Crumb("Matches", links.matches_page(view.tournament, 1)),
    ]
    return page(links, PageHead(title, twin, is_replay=True), content, way)


def _targets(num_plies: int) -> Html:
    """Return the link targets of the plies; they precede every element that `:target` rules change."""
    return join(*(el("i", id=f"p{ply}", class_="ply") for ply in range(num_plies + 1)))


def _picture(match: MatchView) -> Html:
    try:
        shape = geometry(match.game)
        names = edges(find_game(match.game))
    except ArenaError:
        return board(match, gravity=False, names=((), ()))
    return board(match, gravity=shape.kind == "columns", names=names, won=match.winning)


def _steps(view: MatchPage) -> Html:
    """Return links to the first, previous, next and last ply for each ply; one set is visible at a time."""
    last = view.match.ply

    def step(ply: int, words: str, sign: str) -> Html:
        inside = 0 <= ply <= last
        return (
            el("a", sign, href=f"#p{ply}", aria_label=words)
            if inside
            else el("span", sign, aria_hidden="true")
        )

    return el(
        "nav",
        *(
            el(
                "div",
                step(0, "to the start", _START),
                step(ply - 1, "one ply back", _BACK),
                el("span", f"{ply} / {last}"),
                step(ply + 1, "one ply on", _ON),
                step(last, "to the end", _END),
                _clocks(view, ply),
                class_=f"s{ply} step{' end' if ply == last else ''}",
            )
            for ply in range(last + 1)
        ),
        aria_label="Plies",
        class_="steps",
    )


def _clocks(view: MatchPage, ply: int) -> Html | None:
    """Return the clocks of both players after a ply; None without clocks."""
    if ply >= len(view.clocks):
        return None
    first, second = (f"{clock / 1000:.1f} s" for clock in view.clocks[ply])
    return el("span", f"clocks {first} and {second}", class_="clocks")


def _moves(view: MatchPage) -> Html:
    """Return the moves in two columns, first player and second, in a frame that scrolls."""
    match = view.match
    rows: list[Html] = []
    moves = list(match.moves)
    # If the second player begins, the first column of the first row is empty.
    lines: list[list[MoveView | None]] = []
    for move in moves:
        if move.player == 0 or not lines or lines[-1][1] is not None:
            lines.append([None, None])
        lines[-1][move.player] = move
    for number, line in enumerate(lines, 1):
        rows.append(el("tr", el("th", f"{number}.", scope="row"), *(_move(move, view.lost) for move in line)))
    head = el("tr", el("th", "#", scope="col"), *(el("th", seat.name, scope="col") for seat in match.seats))
    moves_table = el("table", el("caption", "Moves"), el("thead", head), el("tbody", *rows), class_="moves")
    return el("div", moves_table, class_="scroll", tabindex="0", role="region", aria_label="Moves")


def _marks(view: MatchPage) -> Html | None:
    """Return the meaning of the marks next to moves; None if there are no marks."""
    if not any(move.mark in _MARKS for move in view.match.moves):
        return None
    words = (
        f"? and ??: a result or a win given away, by {view.judge}."
        if view.judge
        else "~: a swing in the eyes of both bots; arena grade judges the match."
    )
    return el("p", f"{words} Keys b and B go to the next and the last one.", class_="note")


def _move(move: MoveView | None, lost: Mapping[str, str]) -> Html:
    if move is None:
        return el("td")
    told = [lost[str(move.ply)]] if str(move.ply) in lost else []
    told += [] if move.eval is None else [f"{move.eval:.0f} %"]
    if move.elapsed_ms:
        is_short = move.elapsed_ms < _SECOND_MS
        told.append(f"{move.elapsed_ms} ms" if is_short else f"{move.elapsed_ms / 1000:.1f} s")
    return el(
        "td",
        el("a", f"{move.text}{move.mark if move.mark != '#' else ''}", href=f"#p{move.ply}"),
        el("small", "opening" if move.is_opening else ", ".join(told), class_="quiet"),
        class_=f"m{move.ply}{' marked' if move.mark in _MARKS else ''}",
    )


def _facts(view: MatchPage, links: Links) -> Html:
    match = view.match
    facts: Sequence[tuple[str, Html | str | None]] = [
        ("First", bot_link(match.seats[0].name, links.bot(view.identities[0]))),
        ("Second", bot_link(match.seats[1].name, links.bot(view.identities[1]))),
        ("Result", f"{match.result} ({match.termination})"),
        ("Void", match.void_reason or None),
        ("Game", match.game),
        ("Limit", match.tc),
        ("Head to head", _versus(view, links)),
        ("Address", match.address),
        ("Began (UTC)", el("time", day_text(match.started_t), datetime=iso_text(match.started_t))),
    ]
    return section(
        "Facts",
        el("dl", *(join(el("dt", name), el("dd", value)) for name, value in facts if value is not None)),
        _downloads(view, links),
    )


def _versus(view: MatchPage, links: Links) -> Html | None:
    address = links.versus(view.tournament, *view.identities) if view.has_versus else None
    names = (seat.name for seat in view.match.seats)
    return el("a", " against ".join(names), href=address) if address else None


def _downloads(view: MatchPage, links: Links) -> Html | None:
    """Return links to the match as text."""
    if not view.texts:
        return None
    found = (
        el("a", form.upper(), href=links.match_text(view.match.address, form), download=True)
        for form in view.texts
    )
    return el("p", "Download as ", *(join(each, " ") for each in found), class_="downloads")

"""The page of a running match: board, clocks, moves and curve, updated by a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.pages.curve import curve
from arena.pages.frame import Crumb, PageHead, page
from arena.pages.html import Html, el, join
from arena.pages.live import REFRESH_S, live_banners
from arena.pages.live_board import gauge, live_board, player, shared_ground
from arena.pages.live_parts import progress_bar, trouble_line
from arena.watching.run_words import awaited_words, run_words

if TYPE_CHECKING:
    from arena.live.views import MatchView, MoveView
    from arena.pages.links import Links
    from arena.pages.live import Followed, Fragments, PageTime
    from arena.pages.memo import Memo
    from arena.watching.feed import Model
    from arena.watching.page_views import MatchPage

_SECOND_MS = 1000


def match_fragments(model: Model, number: int, links: Links, at: PageTime, memo: Memo) -> Fragments:
    """Return the fragments of the page of a match.

    Args:
        model: the state of its tournament.
        number: number of the match in its tournament.
        links: addresses of other pages.
        at: when they are rendered.
        memo: cache of rendered fragments.
    """
    match = model.view.matches.get(number)
    is_over = any(found.number == number for found in model.view.finished)
    clock = at.clocks if match is not None and match.is_played else None
    return {
        "trouble": trouble_line(model),
        "progress": progress_bar(model, at.now),
        "ending": el("p", _state(model, number, links, at.now), id="ending", class_="ending"),
        "play": memo.of("play", (match, clock, is_over), lambda: _play(match, clock, is_over=is_over)),
        "moves": memo.of(
            "moves", (match,), lambda: el("div", match and _moves(match), id="moves", class_="right")
        ),
        "curve": memo.of(
            "curve", (match,), lambda: el("div", match and curve(match, is_linked=False), id="curve")
        ),
    }


def following_page(view: MatchPage, live: Followed, links: Links, twin: str = "") -> Html:
    """Return the page of a match without a result.

    Args:
        view: the match as far as it is known.
        live: the tournament of the match, with the result of `match_fragments`.
        links: addresses of other pages.
        twin: address of the same data as JSON.
    """
    name, seats, fragments = view.tournament, view.match.seats, live.fragments
    way = [Crumb(name, links.event(name)), Crumb("Live", links.event(name, "live"))]
    board = el("div", fragments["play"], fragments["curve"], class_="left")
    content = [
        *live_banners(live),
        fragments["ending"],
        shared_ground(live.model.view.progress.game),
        el("div", board, fragments["moves"], class_="replay"),
        el("div", el("h2", f"{name}"), fragments["progress"], class_="event"),
    ]
    return page(
        links,
        PageHead(
            f"{seats[0].name} against {seats[1].name}",
            twin,
            look="follow",
            refresh_s=REFRESH_S,
            always_refreshes=not live.frame.stream,
        ),
        content,
        way,
    )


def _state(model: Model, number: int, links: Links, now: float) -> Html | str:
    """Return a sentence about the state of a match; after its end, with a link to its replay."""
    match = model.view.matches.get(number)
    done = next((found for found in model.view.finished if found.number == number), None)
    if match is None and done is None:
        # If the tournament is not being played, the sentence contains the reason.
        why = "" if run_words(model, now).is_live else awaited_words(model, now)
        return f"This match has not begun, or is too short to follow. {why}".strip()
    if match is not None and not match.is_over:
        if match.is_stalled:
            return "This match was interrupted; it will be played again from its start."
        if match.to_move < 0:
            return f"Ply {match.ply}: its result is being stored."
        return f"Ply {match.ply}: {match.seats[match.to_move].name} is to move."
    over = done or match
    if over is None:
        return ""
    address = links.match(over.tournament_name, over.number, over.attempt, over.outcome)
    return join(el("b", over.result), f" {over.why} ", el("a", "Replay", href=address))


def _play(match: MatchView | None, clock_now: float | None, *, is_over: bool) -> Html:
    if match is None:
        words = "The replay shows the board." if is_over else "The board appears with the first move."
        waits = el("p", words, class_="note")
        return el("div", waits, id="play", class_="card large")
    return el(
        "div",
        player(match, 0, clock_now),
        el(
            "div",
            gauge(match.seats[0].eval, match.seats[0].name),
            live_board(match, has_edges=True),
            gauge(match.seats[1].eval, match.seats[1].name),
            class_="look",
        ),
        player(match, 1, clock_now),
        id="play",
        class_="card large",
    )


def _moves(match: MatchView) -> Html:
    """Return the moves, newest first so that the newest is always visible."""
    return el(
        "table",
        el("caption", "Moves, newest first"),
        el("tbody", *(_move(move) for move in reversed(match.moves))),
        class_="plies",
    )


def _move(move: MoveView) -> Html:
    told: list[str] = [] if move.eval is None else [f"{move.eval:.0f} %"]
    if move.elapsed_ms:
        is_short = move.elapsed_ms < _SECOND_MS
        told.append(f"{move.elapsed_ms} ms" if is_short else f"{move.elapsed_ms / _SECOND_MS:.1f} s")
    return el(
        "tr",
        el("th", f"{move.ply}", scope="row"),
        el("td", el("span", class_=f"chip {'ab'[move.player]}"), el("b", move.text)),
        el("td", "opening" if move.is_opening else " ".join(told), class_="n quiet"),
        id=f"ply{move.ply}",
    )

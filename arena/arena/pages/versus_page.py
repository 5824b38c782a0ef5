"""The page of two bots head to head in a tournament."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.pages.frame import Crumb, PageHead, page, section
from arena.pages.html import Html, el, join
from arena.pages.numbers import gap_text, percent_text, triple_text
from arena.pages.page_tables import bot_link, table
from arena.pages.play_tables import linked, losses, mistakes, openings, time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.pages.links import Links
    from arena.results.play_statistics import Loss
    from arena.results.versus import MetMatch
    from arena.watching.page_views import VersusPage


def versus_page(view: VersusPage, links: Links, twin: str = "") -> Html:
    """Return the page of two bots head to head."""
    met = view.meeting
    bot, opponent = view.labels
    content = [
        _score(view, links),
        section("By side", _sides(view)),
        section(f"Losses of {bot}", _losses(met.worst, links, bot, met.cell.losses)),
        section(f"Losses of {opponent}", _losses(met.opponent_worst, links, opponent, met.cell.wins)),
        section("Openings", openings(met.openings, view.addresses, links, bot)) if met.openings else None,
        section(f"Mistakes of {bot}", mistakes(met.mistakes)) if met.mistakes.graded else None,
        section("Newest matches", _matches(met.matches, links, bot, met.cell.games)),
        # The lines that `arena versus` prints, for readers who know that command.
        section("Figures in detail", el("div", *map(_line, met.lines), class_="lines")),
    ]
    way = [
        Crumb(view.tournament, links.event(view.tournament)),
        Crumb("Crosstable", links.event(view.tournament, "table")),
    ]
    return page(links, PageHead(f"{bot} against {opponent}", twin), content, way)


def _line(words: str) -> Html:
    return el("p", words)


def _score(view: VersusPage, links: Links) -> Html:
    met, cell = view.meeting, view.meeting.cell
    error = "" if cell.error is None else f" +/- {cell.error:.0f}"
    facts = [
        ("Score", percent_text(cell.score)),
        ("W-D-L", triple_text((cell.wins, cell.draws, cell.losses))),
        ("Elo difference", f"{gap_text(cell)}{error}"),
        ("Likelihood of superiority", percent_text(cell.los)),
        ("Pairs that count", f"{cell.different_pairs} of {cell.pairs}"),
        ("Openings", str(cell.openings)),
        ("Forfeits", f"{cell.forfeits} - {cell.opponent_forfeits}"),
    ]
    identities = (met.identity, met.opponent_identity)
    names = [
        bot_link(label, links.bot(identity)) for label, identity in zip(view.labels, identities, strict=True)
    ]
    return join(
        el(
            "p",
            el("span", names[0], " against ", names[1]),
            el("span", met.game),
            el("span", met.pool),
            class_="summary",
        ),
        el(
            "dl",
            *(el("div", el("dt", name), el("dd", value)) for name, value in facts if value),
            class_="figures",
        ),
    )


def _sides(view: VersusPage) -> Html:
    cell = view.meeting.cell
    heads = [("Who moved first", "name"), ("Matches", "n"), ("W-D-L", "n"), ("Score", "n")]
    rows = [
        [who, sum(results), triple_text(results), percent_text(_share(results))]
        for who, results in zip(view.labels, (cell.moving_first, cell.moving_second), strict=True)
    ]
    return table(heads, rows, f"Results of {view.labels[0]} by who moved first")


def _share(results: tuple[int, int, int]) -> float | None:
    wins, draws, _ = results
    return (wins + draws / 2) / sum(results) if sum(results) else None


def _losses(found: Sequence[Loss], links: Links, bot: str, num: int) -> Html:
    if not found:
        return el("p", f"{bot} has lost no match of these.", class_="note")
    return losses(found, links, f"Losses of {bot}, {num} in all: the earliest known mistake first")


def _matches(found: Sequence[MetMatch], links: Links, bot: str, num: int) -> Html:
    heads = [
        ("Match", "name id"),
        ("Moved", ""),
        ("Points", "n"),
        ("Plies", "n"),
        ("End", "long"),
        ("Began (UTC)", "quiet"),
    ]
    rows = (
        [
            linked(one.address, links.match_at(one.address)),
            one.side,
            f"{one.points:g}",
            one.plies,
            one.ending,
            time(one.started_at),
        ]
        for one in found
    )
    return table(heads, rows, f"The newest {len(found)} of {num} matches; side and points of {bot}")

"""The pages of bots: the list of all bots, and a page for each with ratings, opponents, losses, identity."""

from __future__ import annotations

from math import ceil, floor
from typing import TYPE_CHECKING, Final

from arena.pages.frame import Crumb, PageHead, page, section
from arena.pages.html import Html, breakable, el, join
from arena.pages.numbers import day_text, gap_text, iso_text, percent_text, triple_text
from arena.pages.page_tables import bot_link, matches, table
from arena.pages.play_tables import linked, losses, mistakes, openings, time
from arena.pages.strokes import RatingStroke, drawn, scale_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.pages.html import Child
    from arena.pages.links import Links
    from arena.results.bot_page import BotPage, CurvePoint, VersionRow
    from arena.watching.page_views import BotListPage, BotProfile

MAX_CHARTS: Final = 4
"""Maximum number of rating charts, for the newest tournaments; the table has the last rating in each."""
_LEAST_POINTS: Final = 2
"""Minimum number of points of a curve that is drawn."""


def bots_page(view: BotListPage, links: Links, twin: str = "") -> Html:
    """Return the list of all bots."""
    heads = [("Bot", "name"), ("Version", ""), ("Games", ""), ("Matches", "n"), ("Forfeits", "n")]
    rows = (
        [
            bot_link(bot.name, links.bot(bot.identity)),
            bot.version,
            ", ".join(bot.games),
            bot.num_matches,
            bot.num_forfeits or "",
        ]
        for bot in view.bots
    )
    content = (
        table(heads, rows, "All bots by name, with their rated matches")
        if view.bots
        else el("p", "No bot has been entered yet.", class_="note")
    )
    return page(links, PageHead("Bots", twin), [content])


def bot_page(view: BotProfile, links: Links, twin: str = "") -> Html:
    """Return the page of a bot."""
    found = view.page
    lost = f"{found.losses} lost"
    content = [
        el(
            "p",
            el("span", view.spec, class_="spec") if view.spec != view.name else None,
            el("span", f"version {view.version}") if view.version else None,
            el("span", f"{found.games} rated match{'' if found.games == 1 else 'es'}"),
            el("span", lost),
            class_="summary",
        ),
        *(_rated(view, links) if found.games else _unrated(view, links)),
        section("Identity", _identity(view)),
    ]
    return page(links, PageHead(view.name, twin), content, [Crumb("Bots", links.page("bots"))])


def _rated(view: BotProfile, links: Links) -> list[Html | None]:
    found = view.page
    return [
        section("Ratings", _ratings(view.versions, view.identity, links)),
        _charts(found, links),
        section("Opponents", _opponents(view, links)),
        section("Worst losses", _worst(view, links)),
        section("Forfeits", _forfeits(view, links)),
        section("Mistakes", mistakes(found.mistakes)),
        section("Openings", openings(found.openings, view.addresses, links, view.name))
        if found.openings
        else None,
        section("Tournaments", _tournaments(found, links)),
    ]


def _unrated(view: BotProfile, links: Links) -> list[Html | None]:
    """Return the sections for a bot without a rated match."""
    return [
        el("p", "This bot has no rated match, so it has no rating.", class_="note"),
        section("Forfeits", _forfeits(view, links)) if view.page.faults else None,
        section("Newest matches", matches(view.unrated, links, "Its newest matches, none of them rated"))
        if view.unrated
        else None,
    ]


def _ratings(versions: Sequence[VersionRow], identity: str, links: Links) -> Html:
    """Return the ratings of all versions in the pools where the given one played, a table per pool."""
    own = {(row.game, row.pool) for row in versions if row.identity == identity}
    fields = sorted(own, key=lambda field: _place(versions, field))
    heads = [
        ("Bot", "name"),
        ("Version", ""),
        ("#", "n"),
        ("Elo", "n"),
        ("+/-", "n quiet"),
        ("95 % interval", "stroke"),
        ("Matches", "n"),
        ("Forfeits", "n"),
        ("First played (UTC)", "quiet"),
    ]
    tables: list[Html] = []
    for game, pool in fields:
        rows = [row for row in versions if (row.game, row.pool) == (game, pool)]
        strokes = [
            RatingStroke(row.elo, row.elo - row.error, row.elo + row.error)
            if row.error is not None
            else RatingStroke(row.elo, None, None)
            for row in rows
        ]
        scale = scale_of(strokes)
        body = (
            [
                el("strong", breakable(row.name), " (this page)")
                if row.identity == identity
                else bot_link(row.name, links.bot(row.identity)),
                row.version,
                row.rank,
                f"{row.elo:.0f}{'?' if row.rests_on_prior else ''}",
                "" if row.error is None else f"{row.error:.0f}",
                drawn(stroke, scale),
                row.games,
                row.forfeits or "",
                time(row.first_at),
            ]
            for row, stroke in zip(rows, strokes, strict=True)
        )
        tables += [
            el("h3", f"{game}, {pool}"),
            table(heads, body, f"Ratings in {game}, {pool}, the version that played first on top"),
        ]
    return join(*tables)


def _place(versions: Sequence[VersionRow], field: tuple[str, str]) -> int:
    return next(place for place, row in enumerate(versions) if (row.game, row.pool) == field)


def _charts(found: BotPage, links: Links) -> Html | None:
    drawn_ones = [entry for entry in found.tournaments if len(entry.curve) >= _LEAST_POINTS][:MAX_CHARTS]
    if not drawn_ones:
        return None
    charts = (
        rating_chart(entry.curve, el("b", linked(entry.tournament, links.known_event(entry.tournament))))
        for entry in drawn_ones
    )
    return section(
        "Rating over time",
        el("p", "Elo relative to the mean of each tournament, 1500, with its 95 % interval.", class_="note"),
        el("div", *charts, class_="charts"),
    )


def _opponents(view: BotProfile, links: Links) -> Html:
    found = view.page
    has_pools = len({(row.game, row.pool) for row in found.opponents}) > 1
    heads = [
        ("Opponent", "name"),
        *([("Game and pool", "quiet")] if has_pools else []),
        ("Matches", "n"),
        ("Score", "n"),
        ("Elo", "n"),
        ("+/-", "n quiet"),
        ("LOS", "n"),
        ("W-D-L", "n"),
        ("Moving first", "n quiet"),
        ("Second", "n quiet"),
        ("Openings", "n"),
        ("Forfeits", "n"),
    ]
    rows = (
        [
            bot_link(row.cell.opponent, links.bot(row.opponent_identity)),
            *([f"{row.game}, {row.pool}"] if has_pools else []),
            row.cell.games,
            linked(
                percent_text(row.cell.score),
                links.versus(view.met[row.opponent_identity], view.identity, row.opponent_identity)
                if row.opponent_identity in view.met
                else None,
            ),
            gap_text(row.cell),
            "" if row.cell.error is None else f"{row.cell.error:.0f}",
            percent_text(row.cell.los),
            triple_text((row.cell.wins, row.cell.draws, row.cell.losses)),
            triple_text(row.cell.moving_first),
            triple_text(row.cell.moving_second),
            row.cell.openings,
            f"{row.cell.forfeits}-{row.cell.opponent_forfeits}",
        ]
        for row in found.opponents
    )
    return join(
        table(heads, rows, "Against each opponent, most matches first"),
        el(
            "p",
            "Elo and its error by these matches alone; LOS is the likelihood of being the stronger one. "
            "Forfeits: its own, then those of the opponent. A score leads to the two bots head to head in "
            "the newest tournament in which they met.",
            class_="note",
        ),
    )


def _worst(view: BotProfile, links: Links) -> Html:
    if not view.page.worst:
        return el("p", "It has lost no rated match.", class_="note")
    opponents: dict[str, Child] = {
        row.cell.opponent: bot_link(row.cell.opponent, links.bot(row.opponent_identity))
        for row in view.page.opponents
    }
    caption = f"The most surprising of {view.page.losses} losses: most expected points, then earliest mistake"
    return losses(view.page.worst, links, caption, opponents=opponents)


def _forfeits(view: BotProfile, links: Links) -> Html:
    if not view.page.faults:
        return el("p", "It has forfeited no match.", class_="note")
    heads = [("Kind", "name"), ("Matches", "n"), ("Newest", ""), ("How that one ended", "long")]
    rows: list[list[Child]] = []
    for fault in view.page.faults:
        address = "" if fault.newest is None else view.addresses.get(str(fault.newest), "")
        rows.append(
            [
                fault.termination,
                fault.matches,
                linked(address, links.match_at(address)) if address else "",
                view.endings.get(fault.termination, ""),
            ]
        )
    return table(heads, rows, "Forfeits of all matches, unrated ones too")


def _tournaments(found: BotPage, links: Links) -> Html:
    heads = [
        ("Tournament", "name"),
        ("Began (UTC)", "quiet"),
        ("Game and pool", "quiet"),
        ("Called", ""),
        ("W-D-L", "n"),
        ("Elo", "n"),
        ("+/-", "n quiet"),
        ("Forfeits", "n"),
    ]
    rows = (
        [
            linked(entry.tournament, links.known_event(entry.tournament)),
            time(entry.created_at),
            f"{entry.game}, {entry.pool}",
            entry.label,
            triple_text((entry.wins, entry.draws, entry.losses)),
            "" if entry.elo is None else f"{entry.elo:.0f}",
            "" if entry.error is None else f"{entry.error:.0f}",
            entry.forfeits or "",
        ]
        for entry in found.tournaments
    )
    return join(
        table(heads, rows, "Where it played, newest first"),
        el("p", "Elo is relative to the mean of each tournament, 1500.", class_="note"),
    )


def _identity(view: BotProfile) -> Html:
    facts = [
        ("Spec", view.spec),
        ("Distribution", f"{view.distribution} {view.version}".strip()),
        ("Identity", view.identity),
        *([("Content", view.content)] if view.content else []),
        *((name, digest) for name, digest in view.files.items()),
    ]
    return join(
        el("dl", *(join(el("dt", name), el("dd", el("code", value))) for name, value in facts)),
        el(
            "p",
            "Identity is a SHA-256 over name, version, options and files: new weights are a new competitor.",
            class_="note",
        ),
    )


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
"""Maximum Elo between the lowest or highest rating and the edge of the chart, where intervals are cut: the
first points are very uncertain."""


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

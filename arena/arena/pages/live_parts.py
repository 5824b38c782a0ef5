"""Parts of live pages: progress, standings, news, trouble."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, cast

from arena.live.plain import duration_text
from arena.naming import count_text
from arena.pages.html import Html, el, join
from arena.pages.numbers import elo_text, error_text, iso_text
from arena.pages.page_tables import bot_link, first_rows, notes, signs
from arena.pages.strokes import RatingStroke, drawn, scale_of
from arena.watching.run_words import awaited_words, run_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena.live.table_views import StandingRow, StandingsView
    from arena.live.views import FinishedMatch, LiveView, Notice
    from arena.pages.links import Links
    from arena.watching.feed import Model

MAX_NEWS: Final = 20
"""Maximum number of news items."""
_MOST_RANKED: Final = 40
"""Maximum number of bots in the standings next to the boards."""
_MAX_FAULTY: Final = 5
"""Maximum number of bots in the list of forfeits."""
_STATES: Final = {
    "LIVE": "running",
    "PAUSED": "paused",
    "STOPPING": "stopping",
    "STOPPED": "stopped",
    "ENDED": "finished",
}
"""CSS class for each state; all other states mean trouble."""


def trouble_line(model: Model) -> Html:
    """Return the reason why there are no updates; hidden if there are."""
    return el(
        "p",
        f"The live view is paused: {model.trouble}" if model.trouble else "",
        id="trouble",
        class_="banner",
        role="status",
        hidden=not model.trouble,
    )


def progress_bar(model: Model, now: float) -> Html:
    """Return state, count, bar, rate and remaining time, the same figures as in the dashboard's header."""
    progress, words = model.view.progress, run_words(model, now)
    pace = progress.at(now)
    state = _STATES.get(words.state, "left" if words.state.islower() or "STALE" in words.state else "")
    counted = f"{count_text(progress.done, progress.planned)} matches"
    facts = [
        el("span", words.state.lower(), class_=f"state {state}"),
        el("span", words.warning, class_="state left") if words.warning else None,
        _fact(f"{progress.game} {progress.tc}".strip()),
        _fact(counted if progress.planned is None else f"{counted}, {100 * pace.share:.0f} %"),
    ]
    if words.is_live and progress.rate is not None:
        facts.append(_fact(f"{progress.rate:.1f} matches/min"))
    if pace.is_stalled:
        facts.append(el("span", "stalled", class_="state left"))
    elif words.is_live and pace.eta_s is not None:
        facts.append(_fact(f"{duration_text(pace.eta_s)} to go"))
    # If no match is running, the sentence about that already contains the reason.
    facts += [_fact(progress.goal), _fact("" if awaited_words(model, now) else progress.reason)]
    share = None if progress.planned is None else _share(pace.share)
    return el("div", el("p", *facts, class_="summary"), share, id="progress", class_="progress")


def _fact(words: str) -> Html | None:
    return el("span", words) if words else None


def _share(share: float) -> Html:
    return el(
        "svg",
        el("rect", width=1000, height=6, rx=3, class_="whole"),
        el("rect", width=round(1000 * share, 1), height=6, rx=3, class_="part"),
        viewBox="0 0 1000 6",
        preserveAspectRatio="none",
        class_="share",
        aria_hidden="true",
    )


def ranking(view: StandingsView, model: Model, links: Links) -> Html:
    """Return compact standings: place, bot, rating with its interval, points of matches."""
    if not view.rows:
        doing = view.doing or "No rated match has been played yet."
        return el("div", el("p", doing, class_="note"), id="ranking")
    identities = cast("Mapping[str, str]", model.facts.get("identities") or {})
    more, view = len(view.rows) - _MOST_RANKED, first_rows(view, _MOST_RANKED)
    scale = scale_of(RatingStroke(row.elo, row.elo_low, row.elo_high) for row in view.rows)
    rows = [_ranked(row, identities, links, scale) for row in view.rows]
    head = el(
        "tr",
        *(
            el("th", words, scope="col", class_=kind)
            for words, kind in (
                ("#", "n"),
                ("Bot", "name"),
                ("Interval", "stroke"),
                ("Elo", "n"),
                ("+/-", "n"),
                ("Points", "n"),
            )
        ),
    )
    return el(
        "div",
        el(
            "div",
            el(
                "table",
                el("caption", "Standings: ratings, best first"),
                el("thead", head),
                el("tbody", *rows),
            ),
            class_="wide",
            tabindex="0",
            role="region",
            aria_label="Standings",
        ),
        el("p", f"and {more} more", class_="note") if more > 0 else None,
        notes([*signs(view), *view.notes]),
        id="ranking",
    )


def _ranked(
    row: StandingRow, identities: Mapping[str, str], links: Links, scale: tuple[float, float]
) -> Html:
    name = bot_link(row.name, links.bot(identities.get(row.name, "")))
    return el(
        "tr",
        el("td", row.place, class_="n"),
        el(
            "th",
            name,
            el("small", f" {row.standing}", class_="quiet") if row.standing else None,
            scope="row",
            class_="name",
        ),
        el("td", drawn(RatingStroke(row.elo, row.elo_low, row.elo_high), scale), class_="stroke"),
        el("td", elo_text(row), class_="n"),
        el("td", error_text(row.error), class_="n quiet"),
        el("td", f"{row.points:g}/{row.games}", class_="n"),
    )


def faults(model: Model) -> Html:
    """Return the bots that forfeited, with counts by termination."""
    standings = model.facts.get("standings")
    rows: tuple[StandingRow, ...] = getattr(standings, "rows", ())
    games = {row.name: row.games for row in rows}
    found = [
        el("li", el("b", name), f": {_counts(counts)}{f' in {games[name]}' if name in games else ''}")
        for name, counts in list(model.view.faults.items())[:_MAX_FAULTY]
    ]
    return el("ul", *found, id="faults", class_="faults", hidden=not found)


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {termination}" for termination, number in sorted(counts.items()))


def news(view: LiveView, links: Links) -> Html:
    """Return the latest results, faults and decisions, newest first."""
    found: list[tuple[float, str, Html]] = [
        (match.t, f"m{match.number}.{match.attempt}", _result(match, links))
        for match in view.finished[:MAX_NEWS]
    ]
    found += [
        (notice.t, f"n{round(1000 * notice.t)}-{notice.number or 0}", _notice(notice, links))
        for notice in view.notices[:MAX_NEWS]
    ]
    found.sort(key=lambda item: -item[0])
    lines: dict[str, Html] = {}
    for t, key, words in found[:MAX_NEWS]:
        # A line keeps its id when others come above it, so that a focused line keeps the focus.
        while key in lines:
            key += "x"  # noqa: PLW2901 # the next free id
        lines[key] = el("li", _time(t), words, id=key)
    empty = None if lines else el("li", "Nothing has happened yet.", class_="quiet")
    return el("ol", *lines.values(), empty, id="news", class_="news")


def _result(match: FinishedMatch, links: Links) -> Html:
    address = links.match(match.tournament_name, match.number, match.attempt, match.outcome)
    why = f"{match.end}, ply {match.plies}" if match.end == "rules" else match.why
    sides = [
        el("strong", name) if match.outcome == side else el("span", name)
        for name, side in zip(match.names, ("first", "second"), strict=True)
    ]
    return el(
        "span",
        el("a", match.short_address, href=address),
        " ",
        sides[0],
        f" {match.result} ",
        sides[1],
        " ",
        el("small", why, class_="quiet"),
    )


def _notice(notice: Notice, links: Links) -> Html:
    name, _, _ = notice.address.rpartition("/")
    address = links.match(name, notice.number) if notice.number is not None and name else None
    about = join(el("a", f"/{notice.number}", href=address), " ") if address else None
    return el("span", about, notice.what, class_="decision" if notice.is_decision else "fault")


def _time(t: float) -> Html:
    moment = datetime.fromtimestamp(t, UTC)
    return el("time", f"{moment:%H:%M:%S}", datetime=iso_text(t), title=f"{moment:%Y-%m-%d %H:%M:%S} UTC")

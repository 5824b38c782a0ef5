"""The first page of a tournament while it is running: a stream updates its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.live.table_views import MatchRow, StandingsView
from arena.pages.event import (
    MAX_NEWEST,
    bracket_part,
    event_tabs,
    newest_part,
    places_part,
    refused_part,
    standings_part,
)
from arena.pages.frame import Crumb, PageHead, page
from arena.pages.live import REFRESH_S, Followed, Fragments, live_banners
from arena.pages.live_parts import progress_bar, trouble_line
from arena.results.by_place import EventTables

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from arena.live.tournament_views import TournamentRow
    from arena.live.views import FinishedMatch
    from arena.pages.html import Html
    from arena.pages.links import Links
    from arena.pages.memo import Memo
    from arena.watching.feed import Model


def event_fragments(model: Model, links: Links, now: float, memo: Memo) -> Fragments:
    """Return the fragments of the first page of a tournament.

    Args:
        model: the state of the tournament.
        links: addresses of other pages.
        now: UTC seconds.
        memo: cache of rendered fragments.
    """
    facts: Mapping[str, Any] = model.facts
    ranked, event, identities = facts.get("standings"), facts.get("event"), facts.get("identities")
    known = ranked if isinstance(ranked, StandingsView) else StandingsView()
    tables = event if isinstance(event, EventTables) else EventTables([], [], [], "")
    newest, name = model.view.finished[:MAX_NEWEST], model.view.progress.name
    return {
        "trouble": trouble_line(model),
        "progress": progress_bar(model, now),
        "bracket": memo.of("bracket", (event,), lambda: bracket_part(tables.bracket)),
        "places": memo.of(
            "places", (event, identities), lambda: places_part(tables.places, links, identities or {})
        ),
        "standings": memo.of(
            "standings", (ranked, identities), lambda: standings_part(known, links, identities or {})
        ),
        "newest": memo.of(
            "newest",
            (model.view.finished,),
            lambda: newest_part([*map(_row, newest)], name, links, "Ended (UTC)"),
        ),
    }


def _row(match: FinishedMatch) -> MatchRow:
    return MatchRow(
        stored=match.stored or 0,
        number=match.number,
        attempt=match.attempt,
        names=match.names,
        outcome=match.outcome,
        termination=match.termination,
        plies=match.plies,
        t=match.t,
        void_reason=match.void_reason,
        tournament=match.tournament_name,
    )


def followed_event_page(row: TournamentRow, live: Followed, links: Links, twin: str = "") -> Html:
    """Return the first page of a running tournament.

    Args:
        row: the tournament.
        live: the state of the tournament, with the result of `event_fragments`.
        links: addresses of other pages.
        twin: address of the same data as JSON.
    """
    fragments = live.fragments
    content = [
        *live_banners(live),
        fragments["progress"],
        event_tabs(row.name, links, here=""),
        *(fragments[name] for name in ("bracket", "places", "standings")),
        refused_part(row),
        fragments["newest"],
    ]
    return page(
        links,
        PageHead(row.name, twin, refresh_s=REFRESH_S, always_refreshes=not live.frame.stream),
        content,
        [Crumb(row.name, links.event(row.name))],
    )

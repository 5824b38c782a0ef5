"""The matches that an export would write, and the equivalent command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from arena.errors import ConfigError
from arena.export.match_selection import ExportQuery, count
from arena.live.forms import ExportForm, ExportPreview
from arena.results.condition import read_condition
from arena.watching.query import NoStoreYet
from arena.watching.stored import row_of
from arena_plugins.contract import Outcome

if TYPE_CHECKING:
    from arena.live.table_views import MatchRow
    from arena.watching.query import Query
    from arena_db.records import StoredMatch
    from arena_db.store import Store

_NUM_NEWEST: Final = 50
"""Maximum number of matches in the preview."""
_PAGE: Final = 100
"""Number of matches read from the store at once."""


def export_words(form: ExportForm) -> list[str]:
    """Return the command line of a form after `arena`, as a list of words.

    Raises:
        ConfigError: a field is missing or invalid.
    """
    condition = read_condition(form.filter)
    return form.words([] if condition.is_empty else [f"--where={condition.text}"])


def preview(query: Query, form: ExportForm) -> ExportPreview:
    """Count what a form would export, and return its newest matches; an empty preview if there is no store.

    Raises:
        Cancelled: the query was cancelled.
        ArenaError: the form or the store cannot be read.
    """
    condition = read_condition(form.filter)
    limit = _limit(form.limit)
    try:
        with query.store() as store:
            where = condition.to_filter(store, rated_only=form.unrated != "on")
            chosen = ExportQuery(where=where, include_forfeits=form.forfeits == "on", limit=limit)
            found = count(store, chosen)
            newest = _newest(store, chosen, min(found.num_matches, _NUM_NEWEST))
    except NoStoreYet:
        return ExportPreview()
    return ExportPreview(
        num_matches=found.num_matches,
        num_positions=found.num_positions,
        games=found.games,
        newest=tuple(map(row_of, newest)),
    )


def _newest(store: Store, query: ExportQuery, num: int) -> list[StoredMatch]:
    """Return the `num` newest matches of an export, which has at least as many."""
    found: list[StoredMatch] = []
    before: int | None = None
    # Forfeits, which are left out, may fill most of a page.
    while len(found) < num and (page := store.matches(query.where, before=before, limit=_PAGE)):
        found += [
            match
            for match in page
            if match.outcome != Outcome.VOID
            and not match.void_reason
            and match.termination in query.terminations
        ]
        before = page[-1].id
    return found[:num]


def preview_line(row: MatchRow) -> str:
    """Format a match: `spring/312 az 1-0 mcts rules, 23 plies`."""
    names = f"{row.names[0]} {row.result} {row.names[1]}"
    return f"{row.address} {names} {row.termination}, {row.plies} plies"


def _limit(text: str) -> int | None:
    if not text.strip():
        return None
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise ConfigError(f'limit: "{text}" is no whole number from 1')
    return number

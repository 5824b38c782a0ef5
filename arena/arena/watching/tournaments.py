"""Tournaments of the store as rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from arena.coordinator.config import refusals
from arena.live.labels import show_name
from arena.live.tournaments import TournamentRow
from arena.results.tournaments import refusal_of, state_of
from arena.watching.answers import Empty, Rows
from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from arena.watching.query import Query
    from arena_db.records import TournamentRecord
    from arena_db.store import Store

_MAX_ROWS: Final = 1000
"""Tournaments that are listed, the newest."""
_MAX_CAUSE: Final = 300


def read_tournaments(query: Query) -> Rows[list[TournamentRow]] | Empty:
    """Return the tournaments that are not archived, newest first.

    Raises:
        Cancelled: the query was cancelled.
        ArenaError: the store cannot be read.
    """
    with query.store() as store:
        found = [_row(store, record) for record in store.tournaments(limit=_MAX_ROWS, archived=False)]
    return Rows(found) if found else Empty("no tournament yet")


def _row(store: Store, record: TournamentRecord) -> TournamentRow:
    return TournamentRow(
        id=record.id,
        name=record.name,
        type=record.type,
        game=record.game,
        tc=record.pool.short,
        state=state_of(store, record),
        planned=record.num_total,
        done=record.num_done,
        created_t=record.created_at,
        bots=tuple(show_name(entrant.label) for entrant in store.entrants(record.id)),
        refused=tuple((show_name(bot), clean_text(why, _MAX_CAUSE)) for bot, why in refusals(record.config)),
        reason=clean_text(refusal_of(record), _MAX_CAUSE),
    )

"""Tournaments of the store as rows of a list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from arena.coordinator.config import refusals
from arena.coordinator.holder import heard_of
from arena.errors import ArenaError, ConfigError
from arena.home import open_store
from arena.live.labels import show_name
from arena.live.tournament_views import TournamentRow
from arena.results.tested import kind_of
from arena.results.tournament_states import refusal_of, refuse_change, state_of
from arena.watching.query_answers import Empty, Rows
from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from arena.watching.query import Query
    from arena_db.records import TournamentRecord
    from arena_db.store import Store

_MAX_ROWS: Final = 1000
"""Maximum number of tournaments in a list, the newest ones: each costs queries, and the list is read every
two seconds."""
_MAX_CAUSE: Final = 300
"""Maximum characters of a refusal in a row: it quotes the bot, and the list may have a thousand rows."""


def read_tournaments(query: Query, *, archived: bool = False) -> Rows[list[TournamentRow]] | Empty:
    """Return the tournaments, newest first.

    Args:
        query: the query.
        archived: whether archived ones are included.

    Raises:
        Cancelled: the query was cancelled.
        ArenaError: the store cannot be read.
    """
    with query.store() as store:
        found = [
            tournament_row(store, record)
            for record in store.tournaments.newest(limit=_MAX_ROWS, archived=archived)
        ]
    return Rows(found) if found else Empty("no tournament yet")


def read_tournament(option: str | None, name: str) -> TournamentRow:
    """Return the current row of a tournament.

    Raises:
        ArenaError: the store cannot be read, or there is no such tournament.
    """
    with open_store(option, read_only=True, create=False) as store:
        record = store.tournaments.find(name)
        if record is None:
            raise ArenaError(f"{name} is no longer in {store.place}")
        return tournament_row(store, record)


def tournament_row(store: Store, record: TournamentRecord) -> TournamentRow:
    """Return a tournament as a row of a list."""
    lease = store.leases.find(record.id)
    return TournamentRow(
        id=record.id,
        name=record.name,
        type=kind_of(record),
        game=record.game,
        tc=record.pool.short,
        state=state_of(store, record),
        planned=record.num_total,
        done=record.num_done,
        created_t=record.created_at,
        bots=tuple(show_name(entrant.label) for entrant in store.tournaments.entrants(record.id)),
        held_by="" if lease is None or not lease.is_alive else heard_of(lease),
        is_archived=record.archived_at is not None,
        refused=tuple((show_name(bot), clean_text(why, _MAX_CAUSE)) for bot, why in refusals(record.config)),
        reason=clean_text(refusal_of(record), _MAX_CAUSE),
        fixed=_why_fixed(store, record),
    )


def _why_fixed(store: Store, record: TournamentRecord) -> str:
    """Return why the entrants of a tournament must not be changed; empty if they may be."""
    try:
        refuse_change(store, record)
    except ConfigError as error:
        return clean_text(str(error), _MAX_CAUSE)
    return ""

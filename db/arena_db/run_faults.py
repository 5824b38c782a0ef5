"""Checks the tables of runs: leases, commands, live events. No result or rating is derived from them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import func, or_, select

from arena_db.clock import now
from arena_db.models import commands, leases, live_events, tournaments

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

_LONGEST_LEASE_S: Final = 86_400.0
"""Seconds. A lease lasts a minute; one that lasts more than a day would lock everybody out."""


def find_faults(connection: Connection) -> Iterator[str]:
    """Yield one sentence for each lease, command or live event that contradicts itself."""
    yield from _leases(connection)
    yield from _commands(connection)
    yield from _events(connection)


def _leases(connection: Connection) -> Iterator[str]:
    is_held = leases.c.uuid != ""
    query = select(tournaments.c.name, is_held, leases.c.expires_at, now())
    query = query.join_from(leases, tournaments, tournaments.c.id == leases.c.tournament_id)
    for name, held, expires_at, moment in connection.execute(query):
        if expires_at > moment + _LONGEST_LEASE_S:
            yield f"the lease of tournament {name} does not end for {(expires_at - moment) / 3600:.0f} hours"
        elif not held and expires_at != 0:
            yield f"the lease of tournament {name} has an end, and nobody holds it"


def _commands(connection: Connection) -> Iterator[str]:
    for row in connection.execute(select(commands)):
        # The payload may be anything: the run refuses a command that it cannot parse.
        if row.answer and row.answered_at is None:
            yield f"command {row.id} has an answer but no time of answering"


def _events(connection: Connection) -> Iterator[str]:
    newest = select(live_events.c.tournament_id, func.max(live_events.c.seq).label("seq"))
    told = newest.group_by(live_events.c.tournament_id).subquery()
    query = select(told.c.seq).join(leases, leases.c.tournament_id == told.c.tournament_id)
    for seq in connection.scalars(query.where(told.c.seq > leases.c.last_seq)):
        yield f"event {seq} has a number that is not assigned yet; `arena db repair` counts on from it"
    odd = or_(live_events.c.number.is_(None) & (live_events.c.attempt != 0), live_events.c.t < 0)
    for seq in connection.scalars(select(live_events.c.seq).where(odd)):
        yield f"event {seq} has an attempt without a match, or a negative time"
    for seq, payload in connection.execute(select(live_events.c.seq, live_events.c.payload)):
        if payload and not _is_object(payload):
            yield f"event {seq} has a payload that cannot be read"


def _is_object(text: Any) -> bool:  # noqa: ANN401 - of a damaged row, anything
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, TypeError, RecursionError):
        return False

"""What happens in running matches, kept for those who watch, as long as one of them may need it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Integer, and_, bindparam, delete, exists, func, insert, or_, select

from arena_db.dialects import driver_query, driver_text, upsert
from arena_db.models import live_events, live_pruned, planned
from arena_db.records import EventPage, LiveEvent, Snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection

KEPT: Final = 10_000
"""Newest events that are kept in any case; a viewer that is further behind asks for a snapshot."""
_PRUNED_EVERY: Final = 1000
"""Events from one removal to the next: it reads all that are kept."""
_NAMES: Final = ("tournament_id", "number", "attempt", "ply", "kind", "payload", "t")


def append(connection: Connection, events: Sequence[LiveEvent]) -> int:
    """Add events in the order given; return the number of the newest."""
    if events:
        rows = [
            (event.tournament, event.number, event.attempt, event.ply, event.kind, event.payload, event.t)
            for event in events
        ]
        connection.exec_driver_sql(_insert_text(connection.dialect.name), rows)
    last = last_seq(connection)
    if last // _PRUNED_EVERY != (last - len(events)) // _PRUNED_EVERY:
        _prune(connection, last - KEPT)
    return last


def page(raw: Any, dialect: str, after: int, tournament: int | None, limit: int) -> EventPage:  # noqa: ANN401 - a driver's connection
    """Return the events after some number, of one tournament or of all."""
    # Viewers ask eight times a second: the text is made once, and SQLAlchemy would be most of the cost.
    text, usual = _page_text(dialect, is_of_one=tournament is not None)
    given = {"after": after, "tournament": tournament, "limit": limit}
    values = tuple(given.get(name, value) for name, value in usual.items())
    raw.execute("BEGIN")
    try:
        # Of one moment: what comes in between would be left out for good.
        events = tuple(map(_event, raw.execute(text, values).fetchall()))
        last, pruned = raw.execute(_edges_text(dialect)).fetchone()
    finally:
        # An error may have ended it.
        if raw.in_transaction:
            raw.execute("COMMIT")
    is_full = bool(events) and len(events) == limit
    seq = events[-1].seq if is_full else max(after, last or 0, pruned or 0)
    return EventPage(events=events, seq=seq, has_gap=after < (pruned or 0))


def snapshot(connection: Connection, tournament: int) -> Snapshot:
    """Return the events of running matches and the newest number, of one moment in a transaction."""
    own = live_events.c.tournament_id == tournament
    rows = connection.execute(select(live_events).where(own, _is_running()).order_by(live_events.c.seq))
    of_match: dict[int, list[LiveEvent]] = {}
    for event in map(_event, rows):
        if event.number is not None and (event.kind == "started" or event.number in of_match):
            _follow(of_match, event.number, event)
    events = [event for found in of_match.values() for event in found]
    state = newest_state(connection, tournament)
    events += [] if state is None else [state]
    ordered = sorted(events, key=lambda event: event.seq)
    return Snapshot(events=tuple(ordered), seq=last_seq(connection))


def newest_state(connection: Connection, tournament: int) -> LiveEvent | None:
    """Return the last event that tells of the whole run; None before the first."""
    own = live_events.c.tournament_id == tournament
    states = select(live_events).where(own, live_events.c.kind == "state", live_events.c.number.is_(None))
    row = connection.execute(states.order_by(live_events.c.seq.desc()).limit(1)).first()
    return None if row is None else _event(row)


def forget(connection: Connection, tournament: int) -> None:
    """Remove the events of a tournament: nothing of it is being played."""
    _remove(connection, live_events.c.tournament_id == tournament)


def last_seq(connection: Connection) -> int:
    """Return the number of the newest event there ever was, 0 before the first."""
    newest = connection.execute(select(func.max(live_events.c.seq))).scalar()
    return max(newest or 0, _pruned(connection))


def _follow(of_match: dict[int, list[LiveEvent]], number: int, event: LiveEvent) -> None:
    """Add an event to those of its match: a match that starts again has none before."""
    known = of_match.get(number, [])
    if event.kind == "started":
        known = []
    elif event.kind == "info":
        known = [other for other in known if other.kind != "info"]
    of_match[number] = [*known, event]


def _prune(connection: Connection, cut: int) -> None:
    """Remove what is old and of no running match; but for the newest, remarks are of no use either."""
    newer = live_events.alias()
    newest_state = select(func.max(newer.c.seq)).where(
        newer.c.tournament_id == live_events.c.tournament_id,
        newer.c.kind == "state",
        newer.c.number.is_(None),
    )
    is_state = and_(live_events.c.number.is_(None), live_events.c.seq == newest_state.scalar_subquery())
    kept = or_(and_(_is_running(), live_events.c.kind != "info"), is_state)
    _remove(connection, and_(live_events.c.seq <= cut, ~kept))


def _remove(connection: Connection, condition: ColumnElement[bool]) -> None:
    removed = connection.scalars(delete(live_events).where(condition).returning(live_events.c.seq)).all()
    if removed:
        seq = max(*removed, _pruned(connection))
        statement = upsert(live_pruned, connection.dialect.name).values(id=1, seq=seq)
        connection.execute(
            statement.on_conflict_do_update(index_elements=["id"], set_={"seq": statement.excluded.seq})
        )


def _pruned(connection: Connection) -> int:
    """Return the highest number of an event that was removed."""
    return connection.execute(select(func.max(live_pruned.c.seq))).scalar() or 0


def _is_running() -> ColumnElement[bool]:
    """Return whether the match of an event has no result yet."""
    return exists().where(
        planned.c.tournament_id == live_events.c.tournament_id,
        planned.c.number == live_events.c.number,
        planned.c.attempt == live_events.c.attempt,
        planned.c.state == "planned",
    )


def _event(row: Sequence[Any]) -> LiveEvent:
    seq, tournament, number, attempt, ply, kind, payload, t = row
    return LiveEvent(
        seq=seq,
        tournament=tournament,
        number=number,
        attempt=attempt,
        ply=ply,
        kind=kind,
        payload=payload,
        t=t,
    )


@cache
def _insert_text(dialect: str) -> str:
    return driver_text(insert(live_events), dialect, _NAMES)


@cache
def _page_text(dialect: str, *, is_of_one: bool) -> tuple[str, dict[str, Any]]:
    query = select(live_events).where(live_events.c.seq > bindparam("after")).order_by(live_events.c.seq)
    if is_of_one:
        query = query.where(live_events.c.tournament_id == bindparam("tournament"))
    return driver_query(query.limit(bindparam("limit", type_=Integer)), dialect)


@cache
def _edges_text(dialect: str) -> str:
    """Give the query for the newest event and the newest that was removed."""
    last = select(func.max(live_events.c.seq)).scalar_subquery()
    return driver_text(select(last, select(func.max(live_pruned.c.seq)).scalar_subquery()), dialect)

"""Live events of running matches, kept for as long as a viewer may need them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import BigInteger, Integer, and_, bindparam, delete, exists, func, insert, or_, select, update

from arena_db.dialects import driver_query, driver_text, values_in_order
from arena_db.errors import RefusedError
from arena_db.models import leases, live_events, planned, tournaments
from arena_db.records import EventPage, LiveEvent, Snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection

KEPT: Final = 10_000
"""Number of the newest events kept of each running tournament, and of all other tournaments together; a
viewer that is further behind asks for a snapshot."""
_PRUNED_EVERY: Final = 1000
"""Number of events between two removals: a removal reads all kept events, about 10,000."""
_NAMES: Final = ("seq", "tournament_id", "number", "attempt", "ply", "kind", "payload", "t")


def append(connection: Connection, events: Sequence[LiveEvent]) -> dict[int, int]:
    """Append events in the order given; return the number of the newest event of each tournament.

    Raises:
        RefusedError: there is no such tournament.
    """
    told: dict[int, list[LiveEvent]] = {}
    for event in events:
        told.setdefault(event.tournament, []).append(event)
    # Sorted, so that two writers always lock leases in the same order and cannot deadlock.
    return {tournament: _append(connection, tournament, told[tournament]) for tournament in sorted(told)}


def _append(connection: Connection, tournament: int, events: Sequence[LiveEvent]) -> int:
    own = leases.c.tournament_id == tournament
    # The update locks the lease until the commit, so numbers become visible in their order.
    raised = update(leases).where(own).values(last_seq=leases.c.last_seq + len(events))
    last = connection.scalar(raised.returning(leases.c.last_seq))
    if last is None:
        raise RefusedError(f"there is no tournament with id {tournament}")
    rows = [
        (seq, event.tournament, event.number, event.attempt, event.ply, event.kind, event.payload, event.t)
        for seq, event in enumerate(events, last - len(events) + 1)
    ]
    connection.exec_driver_sql(_insert_text(connection.dialect.name), rows)
    # Once per `_PRUNED_EVERY` numbers, whatever the size of a batch.
    if last // _PRUNED_EVERY != (last - len(events)) // _PRUNED_EVERY:
        _prune(connection, tournament, last - KEPT)
    return last


def page(raw: Any, dialect: str, tournament: int, after: int, limit: int) -> EventPage:  # noqa: ANN401 - a driver's connection
    """Return the events of a tournament after a number.

    All queries of the connection must share one snapshot: an event committed between them would be skipped
    for good.
    """
    # Viewers poll eight times a second: the SQL text is cached, as SQLAlchemy would be most of the cost.
    text, usual = _page_text(dialect)
    values = values_in_order(usual, after=after, of=tournament, limit=limit)
    events = tuple(map(_event, raw.execute(text, values).fetchall()))
    # After the events, but in the same snapshot: a later number would belong to an event that this page
    # lacks.
    text, usual = _edges_text(dialect)
    found = raw.execute(text, values_in_order(usual, of=tournament)).fetchone()
    last, pruned = (0, 0) if found is None else found
    # A page that is not full ends at the newest number, even if the newest events have been removed.
    is_full = bool(events) and len(events) == limit
    return EventPage(
        events=events, seq=events[-1].seq if is_full else max(after, last), has_gap=after < pruned
    )


def snapshot(connection: Connection, tournament: int) -> Snapshot:
    """Return the events of running matches and the newest event number, as one snapshot."""
    own = live_events.c.tournament_id == tournament
    rows = connection.execute(select(live_events).where(own, _is_running()).order_by(live_events.c.seq))
    of_match: dict[int, list[LiveEvent]] = {}
    for event in map(_event, rows):
        # Without its beginning, a match cannot be shown.
        if event.number is not None and (event.kind == "started" or event.number in of_match):
            _follow(of_match, event.number, event)
    events = [event for found in of_match.values() for event in found]
    state = newest_state(connection, tournament)
    events += [] if state is None else [state]
    ordered = sorted(events, key=lambda event: event.seq)
    return Snapshot(events=tuple(ordered), seq=_last_seq(connection, tournament))


def newest_state(connection: Connection, tournament: int) -> LiveEvent | None:
    """Return the last event about the whole run; None before the first."""
    own = live_events.c.tournament_id == tournament
    states = select(live_events).where(own, live_events.c.kind == "state", live_events.c.number.is_(None))
    row = connection.execute(states.order_by(live_events.c.seq.desc()).limit(1)).first()
    return None if row is None else _event(row)


def forget(connection: Connection, tournament: int) -> None:
    """Remove the events of a tournament: none of its matches is running."""
    _remove(connection, tournament, live_events.c.tournament_id == tournament)


def make_room(connection: Connection) -> None:
    """Remove events of tournaments that are not running if there are too many; keep their last states.

    The tournaments with the lowest ids lose theirs first.
    """
    own = leases.c.tournament_id == live_events.c.tournament_id
    rows = connection.execute(
        select(live_events.c.tournament_id, func.count())
        .join_from(live_events, leases, own)
        .where(leases.c.uuid == "")
        .group_by(live_events.c.tournament_id)
        .order_by(live_events.c.tournament_id)
    ).all()
    num = sum(row[1] for row in rows)
    for tournament, num_here in rows:
        if num <= KEPT:
            return
        # Skip a tournament that another process is claiming right now.
        free = select(leases.c.last_seq).where(leases.c.tournament_id == tournament, leases.c.uuid == "")
        last = connection.scalar(free.with_for_update(skip_locked=True))
        # Until the commit no run can claim it: the row of its lease is locked.
        if last is not None:
            _prune(connection, tournament, last)
        num -= num_here


def mend_numbers(connection: Connection) -> list[str]:
    """Repair leases whose event counter is behind the newest event: continue numbering from that event.

    Followers then start again from a snapshot, because it is unknown which events were removed.

    Returns:
        What was changed, one sentence per tournament.
    """
    newest = func.max(live_events.c.seq)
    query = (
        select(tournaments.c.id, tournaments.c.name, newest)
        .join_from(tournaments, leases, leases.c.tournament_id == tournaments.c.id)
        .join(live_events, live_events.c.tournament_id == tournaments.c.id)
        .group_by(tournaments.c.id, tournaments.c.name, leases.c.last_seq)
        .having(newest > leases.c.last_seq)
        .order_by(tournaments.c.id)
    )
    done: list[str] = []
    for number, name, seq in connection.execute(query).all():
        own = leases.c.tournament_id == number
        connection.execute(update(leases).where(own).values(last_seq=seq, pruned_seq=seq))
        done.append(f"the events of tournament {name} are numbered on from {seq}")
    return done


def _last_seq(connection: Connection, tournament: int) -> int:
    """Return the number of the newest event ever published for a tournament, 0 before the first."""
    own = leases.c.tournament_id == tournament
    return connection.scalar(select(leases.c.last_seq).where(own)) or 0


def _follow(of_match: dict[int, list[LiveEvent]], number: int, event: LiveEvent) -> None:
    """Add an event to those of its match; a match that starts again drops its earlier events."""
    known = of_match.get(number, [])
    if event.kind == "started":
        known = []
    elif event.kind == "info":
        # Of what bots report, only the newest matters to a new viewer.
        known = [other for other in known if other.kind != "info"]
    of_match[number] = [*known, event]


def _prune(connection: Connection, tournament: int, cut: int) -> None:
    """Remove old events of matches that no longer run, and all `info` events, even of running matches."""
    newer = live_events.alias()
    newest_state = select(func.max(newer.c.seq)).where(
        newer.c.tournament_id == tournament, newer.c.kind == "state", newer.c.number.is_(None)
    )
    is_state = and_(live_events.c.number.is_(None), live_events.c.seq == newest_state.scalar_subquery())
    kept = or_(and_(_is_running(), live_events.c.kind != "info"), is_state)
    own = live_events.c.tournament_id == tournament
    _remove(connection, tournament, and_(own, live_events.c.seq <= cut, ~kept))


def _remove(connection: Connection, tournament: int, condition: ColumnElement[bool]) -> None:
    removed = connection.scalars(delete(live_events).where(condition).returning(live_events.c.seq)).all()
    if removed:
        # Never lowered: a reader behind any removed event must learn that it has a gap.
        own = (leases.c.tournament_id == tournament) & (leases.c.pruned_seq < max(removed))
        connection.execute(update(leases).where(own).values(pruned_seq=max(removed)))


def _is_running() -> ColumnElement[bool]:
    """Return the condition that the match of an event has no result yet."""
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
def _page_text(dialect: str) -> tuple[str, dict[str, Any]]:
    later = live_events.c.seq > bindparam("after", type_=BigInteger)
    own = live_events.c.tournament_id == bindparam("of", type_=BigInteger)
    query = select(live_events).where(own, later).order_by(live_events.c.seq)
    return driver_query(query.limit(bindparam("limit", type_=Integer)), dialect)


@cache
def _edges_text(dialect: str) -> tuple[str, dict[str, Any]]:
    """Return the query for the numbers of the newest event and of the newest one removed."""
    own = leases.c.tournament_id == bindparam("of", type_=BigInteger)
    return driver_query(select(leases.c.last_seq, leases.c.pruned_seq).where(own), dialect)

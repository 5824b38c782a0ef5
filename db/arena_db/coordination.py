"""Who runs a tournament, and what others ask of it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from sqlalchemy import insert, or_, select, update

from arena_db.clock import now
from arena_db.models import leases, requests
from arena_db.owner import is_dead
from arena_db.records import Owner

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection


def claim(connection: Connection, tournament: int, owner: Owner, expires_s: float) -> bool:
    """Take the lease if it is free, expired, of this owner, or of a process that has ended."""
    free = [leases.c.expires_at <= now(), leases.c.uuid == owner.uuid]
    row = connection.execute(select(leases).where(leases.c.tournament_id == tournament)).first()
    if row is not None and row.uuid:
        holder = Owner(
            uuid=row.uuid, host=row.host, boot_id=row.boot_id, pid=row.pid, pid_start=row.pid_start
        )
        if is_dead(holder):
            free.append(leases.c.uuid == holder.uuid)
    return _take(connection, tournament, owner, expires_s, or_(*free))


def heartbeat(connection: Connection, tournament: int, owner: Owner, expires_s: float) -> bool:
    """Renew the lease of its owner."""
    return _take(connection, tournament, owner, expires_s, leases.c.uuid == owner.uuid)


def release(connection: Connection, tournament: int, owner: Owner) -> None:
    """Free the lease of its owner."""
    held = (leases.c.tournament_id == tournament) & (leases.c.uuid == owner.uuid)
    connection.execute(update(leases).where(held).values(uuid="", expires_at=0.0))


def request(connection: Connection, tournament: int, kind: str) -> None:
    """Leave a command."""
    connection.execute(insert(requests).values(tournament_id=tournament, kind=kind, created_at=now()))


def has_requests(connection: Connection, tournament: int) -> bool:
    """Return whether a command waits."""
    return connection.execute(select(requests.c.id).where(_waiting(tournament)).limit(1)).first() is not None


def take_requests(connection: Connection, tournament: int) -> list[str]:
    """Return the waiting commands, oldest first, and mark them done."""
    taken = update(requests).where(_waiting(tournament)).values(done_at=now())
    rows = connection.execute(taken.returning(requests.c.id, requests.c.kind)).all()
    return [row.kind for row in sorted(rows, key=lambda row: row.id)]


def _take(
    connection: Connection, tournament: int, owner: Owner, expires_s: float, condition: ColumnElement[bool]
) -> bool:
    taken = (
        update(leases)
        .where(leases.c.tournament_id == tournament, condition)
        .values(**asdict(owner), expires_at=now() + expires_s)
        .returning(leases.c.uuid)
    )
    return connection.execute(taken).first() is not None


def _waiting(tournament: int) -> ColumnElement[bool]:
    return (requests.c.tournament_id == tournament) & requests.c.done_at.is_(None)

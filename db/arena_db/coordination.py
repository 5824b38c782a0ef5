"""Who runs a tournament: one owner at a time."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import or_, select, update

from arena_db import live
from arena_db.clock import now
from arena_db.models import leases, tournaments
from arena_db.owner import LeaseRecord, Owner, is_alive

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection, Row


def find(connection: Connection, tournament: int) -> LeaseRecord | None:
    """Return the lease of a tournament, where somebody has it."""
    own = (leases.c.tournament_id == tournament) & (leases.c.uuid != "")
    row = connection.execute(
        select(leases, (leases.c.expires_at <= now()).label("is_expired")).where(own)
    ).first()
    if row is None:
        return None
    lives = is_alive(_owner(row))
    return LeaseRecord(
        owner=_owner(row),
        expires_at=row.expires_at,
        is_alive=not row.is_expired if lives is None else lives,
    )


def claim(connection: Connection, tournament: int, owner: Owner, expires_s: float) -> bool:
    """Take the lease if it is free, of this owner, of a process that has ended, or expired.

    A process of this machine that lives keeps it, whatever the clock says: clocks are set, machines sleep.
    Who takes it over begins anew: nothing is being played, whatever was told of it.
    """
    holders = _holders(connection, tournament)
    if any(holder.lives and holder.uuid != owner.uuid for holder in holders):
        return False
    free = [leases.c.expires_at <= now(), leases.c.uuid == owner.uuid]
    free += [leases.c.uuid == holder.uuid for holder in holders if holder.lives is False]
    is_taken = _take(connection, tournament, owner, expires_s, or_(*free))
    if is_taken and all(holder.uuid != owner.uuid for holder in holders):
        live.forget(connection, tournament)
    return is_taken


def is_left(connection: Connection, tournament: int, owner: Owner) -> bool:
    """Return whether another held the lease and ended without giving it back."""
    return any(
        not holder.is_living and holder.uuid != owner.uuid for holder in _holders(connection, tournament)
    )


def held_by_living(connection: Connection) -> str | None:
    """Return the name of a tournament that is being run, as far as anybody can tell."""
    return next((holder.tournament for holder in _holders(connection, None) if holder.is_living), None)


def heartbeat(connection: Connection, tournament: int, owner: Owner, expires_s: float) -> bool:
    """Renew the lease of its owner."""
    return _take(connection, tournament, owner, expires_s, leases.c.uuid == owner.uuid)


def release(connection: Connection, tournament: int, owner: Owner) -> None:
    """Free the lease of its owner."""
    held = (leases.c.tournament_id == tournament) & (leases.c.uuid == owner.uuid)
    connection.execute(update(leases).where(held).values(uuid="", expires_at=0.0))


class _Holder(NamedTuple):
    uuid: str
    tournament: str
    lives: bool | None
    """None where nothing is known of its process."""
    is_expired: bool

    @property
    def is_living(self) -> bool:
        return not self.is_expired if self.lives is None else self.lives


def _holders(connection: Connection, tournament: int | None) -> list[_Holder]:
    """Return who has the lease of a tournament, or of any."""
    conditions = [] if tournament is None else [leases.c.tournament_id == tournament]
    expired = leases.c.expires_at <= now()
    rows = connection.execute(
        select(leases, tournaments.c.name, expired.label("is_expired"))
        .join_from(leases, tournaments, tournaments.c.id == leases.c.tournament_id)
        .where(leases.c.uuid != "", *conditions)
    )
    return [_Holder(row.uuid, row.name, is_alive(_owner(row)), bool(row.is_expired)) for row in rows]


def _owner(row: Row[*tuple[Any, ...]]) -> Owner:
    return Owner(**{field.name: getattr(row, field.name) for field in fields(Owner)})


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

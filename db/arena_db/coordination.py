"""Who runs a tournament: one owner at a time."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import select, update

from arena_db import live
from arena_db.clock import now
from arena_db.fence import owner_of
from arena_db.models import leases, tournaments
from arena_db.owner import LeaseRecord, is_alive

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from arena_db.fence import Fence
    from arena_db.owner import Owner


def find(connection: Connection, tournament: int) -> LeaseRecord | None:
    """Return the lease of a tournament, where somebody has it."""
    return next((holder.lease for holder in _holders(connection, tournament)), None)


def claim(
    connection: Connection, tournament: int, owner: Owner, expires_s: float, *, take_over: bool = False
) -> int:
    """Take the lease if it is free, of this owner, of a process that has ended, or expired.

    A process of this machine that lives keeps it, whatever the clock says: clocks are set, machines sleep.
    Only a take-over, which somebody asks for, gets it from one that is silent. A new owner begins anew:
    nothing is being played, whatever was told of it.

    Returns:
        The epoch of the lease, higher than that of any claim before; 0 where another owner keeps it.
    """
    holder = next(iter(_holders(connection, tournament)), None)
    if holder is not None and not _gives_way(holder.lease, owner, take_over=take_over):
        return 0
    taken = (
        update(leases)
        .where(leases.c.tournament_id == tournament)
        .values(**asdict(owner), epoch=leases.c.epoch + 1, beat_at=now(), expires_at=now() + expires_s)
        .returning(leases.c.epoch)
    )
    epoch = connection.execute(taken).scalar()
    if epoch is None:
        return 0
    if holder is None or holder.lease.owner.uuid != owner.uuid:
        live.forget(connection, tournament)
    live.make_room(connection)
    return int(epoch)


def last_claim(connection: Connection, owner: Owner) -> int | None:
    """Return the id of the tournament that a process claimed last, whether or not it still holds it."""
    known = asdict(owner)
    del known["uuid"]
    same = [leases.c[name] == value for name, value in known.items()]
    newest = select(leases.c.tournament_id).where(*same).order_by(leases.c.beat_at.desc()).limit(1)
    return connection.scalar(newest)


def is_left(connection: Connection, tournament: int, owner: Owner, *, take_over: bool = False) -> bool:
    """Return whether another held the lease, did not give it back, and a claim would get it."""
    return any(
        holder.lease.owner.uuid != owner.uuid and _gives_way(holder.lease, owner, take_over=take_over)
        for holder in _holders(connection, tournament)
    )


def held_by_living(connection: Connection) -> str | None:
    """Return the name of a tournament that is being run, as far as anybody can tell."""
    return next((holder.tournament for holder in _holders(connection, None) if holder.lease.is_alive), None)


def release(connection: Connection, fence: Fence) -> None:
    """Free the lease of a claim, unless another one was made after it."""
    held = (leases.c.tournament_id == fence.tournament) & (leases.c.epoch == fence.epoch)
    connection.execute(update(leases).where(held).values(uuid="", expires_at=0.0))


class _Holder(NamedTuple):
    tournament: str
    """Its name."""
    lease: LeaseRecord


def _gives_way(lease: LeaseRecord, owner: Owner, *, take_over: bool) -> bool:
    """Return whether the holder of a lease loses it to an owner who claims it."""
    return lease.owner.uuid == owner.uuid or not lease.is_alive or (take_over and lease.is_silent)


def _holders(connection: Connection, tournament: int | None) -> list[_Holder]:
    """Return who has the lease of a tournament, or of any."""
    conditions = [] if tournament is None else [leases.c.tournament_id == tournament]
    rows = connection.execute(
        select(
            leases,
            tournaments.c.name,
            (leases.c.expires_at <= now()).label("is_expired"),
            (now() - leases.c.beat_at).label("silent_s"),
        )
        .join_from(leases, tournaments, tournaments.c.id == leases.c.tournament_id)
        .where(leases.c.uuid != "", *conditions)
    )
    holders: list[_Holder] = []
    for row in rows:
        owner = owner_of(row)
        lives = is_alive(owner)
        lease = LeaseRecord(
            owner=owner,
            epoch=row.epoch,
            beat_at=row.beat_at,
            # A clock that was set back makes nobody silent.
            silent_s=max(0.0, row.silent_s),
            expires_at=row.expires_at,
            is_alive=not row.is_expired if lives is None else lives,
        )
        holders.append(_Holder(row.name, lease))
    return holders

"""Leases of tournaments: one owner runs a tournament at a time."""

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
    """Return the lease of a tournament; None if nobody holds it."""
    return next((holder.lease for holder in _holders(connection, tournament)), None)


def claim(
    connection: Connection, tournament: int, owner: Owner, expires_s: float, *, take_over: bool = False
) -> int:
    """Claim the lease if it is free, expired, held by this owner or by a process that has ended.

    A living process of this machine keeps it even after it expired: clocks are set, machines sleep. Only a
    requested take-over replaces a living owner that has been silent. A new owner starts without live events:
    no match is running, whatever events an earlier owner published.

    Returns:
        The epoch of the lease, higher than that of any claim before; 0 if another owner keeps it.
    """
    holder = next(iter(_holders(connection, tournament)), None)
    if holder is not None and not _gives_way(holder.lease, owner, take_over=take_over):
        return 0
    taken = (
        update(leases)
        .where(leases.c.tournament_id == tournament)
        # The higher epoch fences off every earlier claim: its next transaction fails.
        .values(**asdict(owner), epoch=leases.c.epoch + 1, beat_at=now(), expires_at=now() + expires_s)
        .returning(leases.c.epoch)
    )
    epoch = connection.execute(taken).scalar()
    if epoch is None:
        return 0
    # Events of another owner describe matches that are no longer running.
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
    """Return whether another owner holds the lease without having released it, and a claim would get it."""
    return any(
        holder.lease.owner.uuid != owner.uuid and _gives_way(holder.lease, owner, take_over=take_over)
        for holder in _holders(connection, tournament)
    )


def held_by_living(connection: Connection) -> str | None:
    """Return the name of a tournament that is being run, as far as is known; None if there is none."""
    return next((holder.tournament for holder in _holders(connection, None) if holder.lease.is_alive), None)


def release(connection: Connection, fence: Fence) -> None:
    """Release the lease of a claim, unless another claim was made after it."""
    held = (leases.c.tournament_id == fence.tournament) & (leases.c.epoch == fence.epoch)
    connection.execute(update(leases).where(held).values(uuid="", expires_at=0.0))


class _Holder(NamedTuple):
    tournament: str
    """Name of the tournament."""
    lease: LeaseRecord


def _gives_way(lease: LeaseRecord, owner: Owner, *, take_over: bool) -> bool:
    """Return whether a claim by an owner replaces the holder of a lease."""
    return lease.owner.uuid == owner.uuid or not lease.is_alive or (take_over and lease.is_silent)


def _holders(connection: Connection, tournament: int | None) -> list[_Holder]:
    """Return the holder of a tournament's lease, or the holders of all leases."""
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
            # If the clock was set back, the difference is negative; no owner counts as silent for that.
            silent_s=max(0.0, row.silent_s),
            expires_at=row.expires_at,
            # For a process of another machine only the expiry of its lease is known.
            is_alive=not row.is_expired if lives is None else lives,
        )
        holders.append(_Holder(row.name, lease))
    return holders

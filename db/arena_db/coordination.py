"""Leases, by which one owner at a time runs a tournament, and commands to that owner."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import insert, select, update

from arena_db import live
from arena_db.clock import now
from arena_db.dialects import driver_query, values_in_order
from arena_db.errors import RefusedError
from arena_db.fence import owner_of
from arena_db.models import commands, leases, tournaments
from arena_db.owner import LeaseRecord, is_alive
from arena_db.records import CommandRecord

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection, Row

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
    # The write lock is held since the transaction began, so no other claim comes between this and the update.
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
    # Here, because a claim is rare and has the write lock anyway.
    live.make_room(connection)
    return int(epoch)


def last_claim(connection: Connection, owner: Owner) -> int | None:
    """Return the id of the tournament that a process claimed last, whether or not it still holds it."""
    known = asdict(owner)
    # The program that started the process knows its id and starting time, but not the uuid that it drew.
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
    # The epoch stays, so that the next claim gets a higher one and this one never becomes valid again.
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
    # Times are compared in the database, by its clock: those of machines differ.
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


def send_command(raw: Any, dialect: str, tournament: int, kind: str, payload: str) -> int:  # noqa: ANN401 - a driver's connection
    """Insert a command through a driver's connection, in a transaction of its own; return its id."""
    text, usual = _ask_text(dialect)
    values = values_in_order(usual, tournament_id=tournament, kind=kind, payload=payload)
    ((command,),) = raw.execute(text, values).fetchall()
    return int(command)


@cache
def _ask_text(dialect: str) -> tuple[str, dict[str, Any]]:
    new = insert(commands).values(tournament_id=0, kind="", payload="", asked_at=now(), answer="")
    return driver_query(new.returning(commands.c.id), dialect)


def has_waiting_command(connection: Connection, tournament: int) -> bool:
    """Return whether a command of the tournament has not been taken yet."""
    return connection.execute(select(commands.c.id).where(_waiting(tournament)).limit(1)).first() is not None


def take_commands(connection: Connection, tournament: int) -> list[CommandRecord]:
    """Return the commands that have not been taken yet, oldest first, and mark them as taken."""
    # Read and marked by one statement, so that a command is handled once, even if another process asks.
    taken = update(commands).where(_waiting(tournament)).values(taken_at=now()).returning(commands)
    return sorted(map(_command, connection.execute(taken)), key=lambda command: command.id)


def answer_command(connection: Connection, command: int, text: str) -> None:
    """Store the answer to a command.

    Raises:
        RefusedError: there is no such command, or it has an answer already.
    """
    own = (commands.c.id == command) & commands.c.answered_at.is_(None)
    if not connection.execute(update(commands).where(own).values(answered_at=now(), answer=text)).rowcount:
        raise RefusedError(f"command {command} does not exist or has been answered already")


def find_command(connection: Connection, command: int) -> CommandRecord | None:
    """Return the command with this id; None if there is none."""
    row = connection.execute(select(commands).where(commands.c.id == command)).first()
    return None if row is None else _command(row)


def _waiting(tournament: int) -> ColumnElement[bool]:
    return (commands.c.tournament_id == tournament) & commands.c.taken_at.is_(None)


def _command(row: Row[*tuple[Any, ...]]) -> CommandRecord:
    return CommandRecord(
        id=row.id,
        tournament=row.tournament_id,
        kind=row.kind,
        payload=row.payload,
        asked_at=row.asked_at,
        taken_at=row.taken_at,
        answered_at=row.answered_at,
        answer=row.answer,
    )

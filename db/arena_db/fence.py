"""Keeps a process from writing once another one has taken over its tournament."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import Double, bindparam, select, update

from arena_db.clock import now
from arena_db.dialects import driver_query
from arena_db.errors import LeaseLostError
from arena_db.models import leases, tournaments
from arena_db.owner import Owner

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

LEASE_S: Final = 60.0
"""Seconds that a lease lasts from the last write of its owner."""


class Fence(NamedTuple):
    """What a run is allowed to write by: the claim that nobody made another one after."""

    tournament: int
    """Its id."""
    epoch: int
    """Of the claim."""


def pass_fence(connection: Connection, fence: Fence, expires_s: float = LEASE_S) -> None:
    """Renew the lease, as the first statement of a transaction that holds the write lock.

    A flag in memory would not do: a process that is stopped between its look at the flag and its commit
    writes when it wakes, hours later. Nobody can make another claim between this statement and the commit.

    Raises:
        LeaseLostError: another claim was made; the caller rolls back.
    """
    statement, usual = _beat_text(connection.dialect.name)
    given = {"lasts": expires_s, "of": fence.tournament, "by": fence.epoch}
    values = tuple(given.get(name, value) for name, value in usual.items())
    if not connection.exec_driver_sql(statement, values).rowcount:
        raise loss_of(connection, fence)


def present_epoch(connection: Connection, tournament: int) -> tuple[int, bool]:
    """Return the epoch of the last claim, 0 before the first, and whether that lease is still held."""
    own = leases.c.tournament_id == tournament
    row = connection.execute(select(leases.c.epoch, leases.c.uuid != "").where(own)).first()
    return (0, False) if row is None else (row[0], bool(row[1]))


def loss_of(connection: Connection, fence: Fence) -> LeaseLostError:
    """Return the error of a run that is not the last one to claim its tournament; it names who has it now."""
    query = select(leases, tournaments.c.name).join_from(leases, tournaments)
    row = connection.execute(query.where(leases.c.tournament_id == fence.tournament)).first()
    if row is None:
        return LeaseLostError(
            f"there is no tournament {fence.tournament} in the store any more; nothing more is stored"
        )
    who = owner_of(row).called if row.uuid else "another process"
    return LeaseLostError(
        f"{row.name} was taken over by {who}, which goes on with it; this process stores nothing more, and "
        "every result it told of is stored"
    )


def owner_of(row: Row[*tuple[Any, ...]]) -> Owner:
    """Return the owner that a row of `leases` names."""
    return Owner(**{field.name: getattr(row, field.name) for field in fields(Owner)})


@cache
def _beat_text(dialect: str) -> tuple[str, dict[str, Any]]:
    """Return the statement that renews a lease, and its values by name, three of which are to be given."""
    own = (leases.c.tournament_id == bindparam("of")) & (leases.c.epoch == bindparam("by"))
    later = now() + bindparam("lasts", type_=Double)
    return driver_query(update(leases).where(own).values(beat_at=now(), expires_at=later), dialect)

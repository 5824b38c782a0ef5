"""Fencing: prevents a process from writing after another process has taken over its tournament."""

from __future__ import annotations

from dataclasses import fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import bindparam, select, update

from arena_db.clock import now
from arena_db.dialects import driver_query, values_in_order
from arena_db.errors import LeaseLostError
from arena_db.models import leases, tournaments
from arena_db.owner import Owner

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

LEASE_S: Final = 60.0
"""Seconds from the last renewal of a lease until it expires."""


class Fence(NamedTuple):
    """A run's permission to write: valid while its claim is the last one."""

    tournament: int
    """Id of the tournament."""
    epoch: int
    """Epoch of the claim; a fencing token that each claim increments."""


def pass_fence(connection: Connection, fence: Fence) -> None:
    """Check that the claim is still the last one; the first statement of a transaction with the write lock.

    A flag in memory would not be enough: a process suspended between checking the flag and committing would
    write when it resumes, perhaps hours later. No other claim can be made between this statement and the
    commit: on a server it locks the lease row, which other tournaments do not wait for. This check is part of
    each save, so it writes nothing and uses the driver directly: through SQLAlchemy it takes six times as
    long. `beat` renews the lease.

    Raises:
        LeaseLostError: another claim was made; the caller rolls back.
    """
    raw: Any = connection.connection.driver_connection
    if not raw.execute(*_look(connection.dialect.name, fence)).fetchall():
        raise loss_of(connection, fence)


def beat(connection: Connection, fence: Fence) -> None:
    """Renew the lease of a claim, in a transaction that has passed the fence."""
    # With the epoch: the row may belong to a later claim by now.
    own = (leases.c.tournament_id == fence.tournament) & (leases.c.epoch == fence.epoch)
    # Times are those of the database's clock, because clocks of machines differ.
    connection.execute(update(leases).where(own).values(beat_at=now(), expires_at=now() + LEASE_S))


def present_epoch(connection: Connection, tournament: int) -> tuple[int, bool]:
    """Return the epoch of the last claim, 0 before the first, and whether that lease is still held."""
    own = leases.c.tournament_id == tournament
    # A released lease keeps its epoch; only its uuid is empty.
    row = connection.execute(select(leases.c.epoch, leases.c.uuid != "").where(own)).first()
    return (0, False) if row is None else (row[0], bool(row[1]))


def loss_of(connection: Connection, fence: Fence) -> LeaseLostError:
    """Return the error for a run that has lost its lease; the error names the present owner."""
    query = select(leases, tournaments.c.name).join_from(leases, tournaments)
    row = connection.execute(query.where(leases.c.tournament_id == fence.tournament)).first()
    if row is None:
        return LeaseLostError(
            f"tournament {fence.tournament} is no longer in the store; nothing more is stored"
        )
    who = owner_of(row).called if row.uuid else "another process"
    return LeaseLostError(
        f"{row.name} was taken over by {who}, which continues it; this process stores nothing more, and "
        "every result it reported is stored"
    )


def owner_of(row: Row[*tuple[Any, ...]]) -> Owner:
    """Return the owner stored in a row of `leases`."""
    return Owner(**{field.name: getattr(row, field.name) for field in fields(Owner)})


@lru_cache(maxsize=64)
def _look(dialect: str, fence: Fence) -> tuple[str, tuple[Any, ...]]:
    """Return the query for the claim of a fence and its bound values in order.

    Cached, as each save runs it.
    """
    # FOR UPDATE locks the row on a server; for SQLite it is omitted, where the write lock covers the file.
    own = (leases.c.tournament_id == bindparam("of")) & (leases.c.epoch == bindparam("by"))
    statement, usual = driver_query(select(leases.c.epoch).where(own).with_for_update(), dialect)
    return statement, values_in_order(usual, of=fence.tournament, by=fence.epoch)

"""Removes the clusters of ended tournaments: the results by opening, from which their sums were computed.

Clusters are needed to add matches to the sums, or to remove some; they are then restored from the matches.
The clusters of pools stay, because every tournament of a pool adds to them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import delete, func, insert, select

from arena_db import coordination
from arena_db.clock import now
from arena_db.cold_tables import pruned_tournaments
from arena_db.kept import clusters, encounters, strays
from arena_db.models import matches, tournaments
from arena_db.resumming import first_unsummed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

BYTES: Final = 56
"""Bytes of a row of clusters in a file, measured with SQLite's dbstat in a store of 30,000 matches."""


class PrunedResults(NamedTuple):
    """What was removed of a tournament, or would be."""

    tournament: str
    """Its name."""
    num_rows: int

    @property
    def num_bytes(self) -> int:
        """Approximate number of bytes that become free in the store, for later matches."""
        return BYTES * self.num_rows


def prune(connection: Connection, tournament: int) -> int:
    """Remove the clusters of a tournament that has ended; return the number of rows.

    The caller holds the write lock, and all matches of the tournament are in the sums.
    """
    own = select(encounters.c.id).where(encounters.c.tournament_id == tournament)
    num = sum(
        connection.execute(delete(table).where(table.c.encounter_id.in_(own))).rowcount
        for table in (strays, clusters)
    )
    if num:
        connection.execute(insert(pruned_tournaments).values(tournament_id=tournament, pruned_at=now()))
    return num


def list_prunable(connection: Connection, chosen: Sequence[int] | None) -> list[tuple[int, str]]:
    """Return ids and names of the tournaments that can be pruned."""
    last = select(func.coalesce(func.max(matches.c.id), 0)).where(matches.c.tournament_id == tournaments.c.id)
    query = select(tournaments.c.id, tournaments.c.name).where(
        tournaments.c.state == "finished",
        tournaments.c.id.not_in(select(pruned_tournaments.c.tournament_id)),
        last.scalar_subquery() < first_unsummed(connection),
    )
    rows = connection.execute(query.order_by(tournaments.c.id)).all()
    held = {row.id: coordination.find(connection, row.id) for row in rows}
    return [
        (row.id, row.name)
        for row in rows
        if (chosen is None or row.id in chosen) and not ((lease := held[row.id]) and lease.is_alive)
    ]


def num_rows(connection: Connection, tournament: int) -> int:
    """Return the number of rows that pruning a tournament removes."""
    own = select(encounters.c.id).where(encounters.c.tournament_id == tournament)
    return sum(
        connection.scalar(select(func.count()).select_from(table).where(table.c.encounter_id.in_(own))) or 0
        for table in (strays, clusters)
    )

"""Ids of tournaments and matches: they only grow, even after tournaments were removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import func, select

from arena_db.corrections import removals
from arena_db.models import matches, tournaments

if TYPE_CHECKING:
    from sqlalchemy import Connection

_FLOOR = (
    "SELECT max(last_match) FROM (SELECT last_match FROM removals UNION ALL "
    "SELECT last_match FROM cold_tournaments) AS gone"
)


def next_tournament(connection: Connection) -> int:
    """Return the id of the next tournament."""
    # Above removed ones, too: viewers and files remember ids, so none is given twice.
    last = select(func.max(tournaments.c.id)).union_all(select(func.max(removals.c.tournament_id)))
    return 1 + max(number or 0 for number in connection.scalars(last))


def last_match(connection: Connection) -> int:
    """Return the highest id ever given to a match, stored or not; 0 if there never was one."""
    return max(connection.scalar(select(func.max(matches.c.id))) or 0, floor(connection))


def floor(connection: Connection) -> int:
    """Return the highest id known of matches that are not stored any more; 0 if all are stored.

    Their tournaments were removed, or their rows are in files.
    """
    return connection.exec_driver_sql(_FLOOR).scalar() or 0

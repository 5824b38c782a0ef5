"""Rebuilds the derived data of a store: indexes, marks of plans, counts, sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy.schema import CreateIndex

from arena_db import kept, live, plan_faults, points, replays, resumming
from arena_db.backend import integrity
from arena_db.errors import DamagedError
from arena_db.models import tallies
from arena_db.naming import metadata

if TYPE_CHECKING:
    from sqlalchemy import Connection, Index

_DERIVED: Final = frozenset(
    table.name for table in (*resumming.KEPT, kept.summing, tallies, kept.rating_points, kept.replays)
)
"""Tables that a repair computes again from plans and matches, or whose rows it may remove."""


def repair(connection: Connection) -> list[str]:
    """Rebuild all derived data in the transaction of a connection; return the changes, one sentence each.

    Raises:
        DamagedError: other damage keeps it from being rebuilt.
    """
    return [
        *_mend_schema(connection),
        *integrity.mend_pages(connection, _DERIVED),
        *plan_faults.repair(connection),
        *live.mend_numbers(connection),
        *resumming.rebuild(connection),
        *points.remove_wrong(connection),
        *replays.remove_wrong(connection),
    ]


def is_mendable(kind: str, name: str) -> bool:
    """Return whether an object of the schema can be rebuilt: an index that belongs to arena."""
    return kind == "index" and name in _indexes()


def _mend_schema(connection: Connection) -> list[str]:
    """Rebuild indexes that are missing or differ from arena's.

    Raises:
        DamagedError: a table differs, or there is an object that is not arena's.
    """
    done: list[str] = []
    for key, text in integrity.find_differing(connection):
        name = key[1]
        if not is_mendable(*key):
            raise DamagedError(f"{text}, which cannot be repaired; {integrity.WAY_OUT}")
        connection.exec_driver_sql(f"DROP INDEX IF EXISTS {name}")
        connection.execute(CreateIndex(_indexes()[name]))
        done.append(f"the index {name} is rebuilt")
    return done


def _indexes() -> dict[str, Index]:
    return {str(index.name): index for table in metadata.sorted_tables for index in table.indexes}

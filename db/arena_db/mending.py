"""Rebuilds what follows from the rest of a store: indexes, marks of plans, counts, sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy.schema import CreateIndex

from arena_db import plan_faults, points, replays, resumming
from arena_db.backend.lite.schema import find_differing
from arena_db.errors import DamagedError
from arena_db.models import REVISION
from arena_db.naming import metadata

if TYPE_CHECKING:
    from sqlalchemy import Connection, Index

_WAY_OUT: Final = "nothing was changed; `arena db restore BACKUP` takes a backup back"


def repair(connection: Connection) -> list[str]:
    """Rebuild all of it in the transaction of a connection; return what was changed, one sentence each.

    Raises:
        DamagedError: something else is damaged, too, that keeps it from being rebuilt.
    """
    return [
        *_mend_schema(connection),
        *_mend_pages(connection),
        *plan_faults.repair(connection),
        *resumming.rebuild(connection),
        *points.remove_wrong(connection),
        *replays.remove_wrong(connection),
    ]


def is_mendable(kind: str, name: str) -> bool:
    """Return whether an object of the schema can be made anew from the rest: an index that is arena's."""
    return kind == "index" and name in _indexes()


def _mend_schema(connection: Connection) -> list[str]:
    """Make indexes anew that are missing or not as arena makes them.

    Raises:
        DamagedError: a table differs, or there is an object that is not arena's.
    """
    raw: Any = connection.connection.driver_connection
    done: list[str] = []
    for key, text in find_differing(raw, REVISION):
        name = key[1]
        if not is_mendable(*key):
            raise DamagedError(f"{text}, which no repair mends; {_WAY_OUT}")
        connection.exec_driver_sql(f"DROP INDEX IF EXISTS {name}")
        connection.execute(CreateIndex(_indexes()[name]))
        done.append(f"the index {name} is made anew")
    return done


def _indexes() -> dict[str, Index]:
    return {str(index.name): index for table in metadata.sorted_tables for index in table.indexes}


def _mend_pages(connection: Connection) -> list[str]:
    """Make the pages of all indexes anew where SQLite finds that they contradict their tables.

    Raises:
        DamagedError: other pages are damaged.
    """
    if _first_fault(connection) is None:
        return []
    connection.exec_driver_sql("REINDEX")
    fault = _first_fault(connection)
    if fault is not None:
        raise DamagedError(f"SQLite finds: {fault}, which no repair mends; {_WAY_OUT}")
    return ["the pages of all indexes are made anew"]


def _first_fault(connection: Connection) -> str | None:
    text = connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar()
    return None if text == "ok" else str(text)

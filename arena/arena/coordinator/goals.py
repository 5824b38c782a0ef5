"""How far an event is on the way to what it is held for, in one line: the same for every viewer and run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.coordinator.event_tables import event_tables
from arena.results.tested import is_test

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.results.by_place import EventTables
    from arena.results.tables import Table
    from arena_db.records import TournamentRecord
    from arena_db.store import Store


def goal_line(
    store: Store,
    record: TournamentRecord,
    *,
    tables: Sequence[Table] | None = None,
    event: EventTables | None = None,
) -> str:
    """Return how far an event is: the LLR of a test, the round of a Swiss, the widest error of a ladder.

    It is empty for events that are played to the end of their plan and nothing else.

    Args:
        store: where the event is.
        record: the event as it is now.
        tables: its standings, if they were computed before.
        event: its tables by place, if they were computed before.

    Raises:
        ArenaError: the stored configuration or decision cannot be read.
    """
    if record.state in {"preparing", "refused"}:
        return ""
    if is_test(record):
        # It loads NumPy, which no other tournament needs before the first paint.
        from arena.results.sequential import SprtBook

        return SprtBook(store, record).report().line()
    if record.type == "ladder":
        # Likewise.
        from arena.coordinator.joining import ladder_status

        return ladder_status(store, record, tables).goal_line()
    event = event_tables(store, record) if event is None else event
    return "" if event is None else event.progress

"""The progress of a tournament towards its goal in one line, the same for every viewer and run."""

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
    """Return the progress: the LLR of a test, the round of a Swiss tournament, the widest error of a ladder.

    It is empty for tournaments without a goal besides playing their whole plan.

    Args:
        store: contains the tournament.
        record: its present record.
        tables: its standings, if they are known already.
        event: the tournament's tables by place, if they are known already.

    Raises:
        ArenaError: the stored configuration or decision cannot be parsed.
    """
    if record.state in {"preparing", "refused"}:
        return ""
    if is_test(record):
        # Imported here, because it imports NumPy, which would delay the first screen of other tournaments.
        from arena.results.sequential import SprtBook

        return SprtBook(store, record).report().line()
    if record.type == "ladder":
        # Imported here for the same reason.
        from arena.coordinator.joining import ladder_status

        return ladder_status(store, record, tables).goal_line()
    event = event_tables(store, record) if event is None else event
    return "" if event is None else event.progress

"""State of bots in a tournament beside their ratings: their place, and whether they are new or have left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arena.live.table_views import Standing, StandingRow
    from arena.results.by_place import EventTables
    from arena.results.tables import Table
    from arena_db.records import Entrant, TournamentRecord
    from arena_db.store import Store


def standings_in(
    store: Store, record: TournamentRecord, entrants: Sequence[Entrant], tables: Sequence[Table]
) -> dict[str, Standing]:
    """Return which bots are new, have left or are disqualified, by label; others are omitted.

    Args:
        store: the store with the tournament.
        record: the tournament.
        entrants: bots of the tournament.
        tables: standings of the tournament.
    """
    found: dict[str, Standing] = {
        entrant.label: entrant.state for entrant in entrants if entrant.state != "playing"
    }
    if record.type == "ladder":
        from arena.coordinator.joining import ladder_status

        found |= dict.fromkeys(ladder_status(store, record, tables).newcomers, "new")
    return found


def with_standing(rows: Sequence[StandingRow], standings: Mapping[str, Standing]) -> tuple[StandingRow, ...]:
    """Return the rows with the states of their bots."""
    return tuple(replace(row, standing=standings[row.name]) if row.name in standings else row for row in rows)


def by_place(rows: Sequence[StandingRow], event: EventTables) -> tuple[StandingRow, ...]:
    """Return the rows in the order of the table by place, with its ranks and points.

    A bot that is still in a knockout has no rank yet and the state `in`.
    """
    known = {row.name: row for row in rows}
    found = [
        replace(known[place.name], rank=place.place, table=0, points=place.points) for place in event.places
    ]
    for place in event.bracket_places:
        row = known[place.name]
        is_in = place.place is None and not row.standing
        found.append(replace(row, rank=place.place or 0, table=0, standing="in" if is_in else row.standing))
    return tuple(found)

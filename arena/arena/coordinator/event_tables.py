"""What an event that is paired by results has beside ratings: a table by place, and a bracket."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from arena.coordinator.config import parse_toml
from arena.coordinator.kinds import knockout_of, swiss_of
from arena.coordinator.plan_view import EventView
from arena.results.brackets import bracket_rows
from arena.results.place_table import place_rows, place_table

if TYPE_CHECKING:
    from arena.results.brackets import BracketRow
    from arena.results.place_table import PlaceRow
    from arena_db.records import TournamentRecord
    from arena_db.store import Store


class BracketPlace(NamedTuple):
    """The place of a bot in a knockout."""

    place: int | None
    """From 1; those who lose in one round share it, None is still in."""
    name: str


class EventTables(NamedTuple):
    """The tables of a Swiss tournament or a knockout."""

    places: list[PlaceRow]
    """Of a Swiss tournament, with tie-breaks, best first; else empty."""
    bracket_places: list[BracketPlace]
    """Of a knockout, best first; else empty."""
    bracket: list[BracketRow]
    """Encounters of a knockout, in the order in which they can be decided; empty of a Swiss tournament."""


def event_tables(store: Store, record: TournamentRecord) -> EventTables | None:
    """Return the tables by place as results have made them so far; None of other events, and before it began.

    Raises:
        ConfigError: the stored configuration cannot be read.
    """
    if record.type not in {"swiss", "knockout"} or not record.has_begun:
        return None
    config = parse_toml(record.config, f"the stored configuration of {record.name}")
    event = EventView(store, record)
    view = event.look(event.basis(), record.decision)
    labels = [who.label for who in view.seats]
    if record.type == "swiss":
        return EventTables(place_rows(swiss_of(config).meetings(view), labels), [], [])
    bracket = knockout_of(config, len(labels)).bracket(view)
    found = [
        BracketPlace(place, label) for place, label in zip(bracket.places(len(labels)), labels, strict=True)
    ]
    # Who is still in stands on top.
    return EventTables([], sorted(found, key=lambda row: row.place or 0), bracket_rows(bracket, labels))


def place_rows_of(store: Store, record: TournamentRecord) -> list[PlaceRow]:
    """Return the table by place of any event; of a Swiss tournament with its rounds and byes.

    Of other events all rated matches of two bots are one encounter.
    """
    tables = event_tables(store, record) if record.type == "swiss" else None
    return place_table(store, record) if tables is None else tables.places

"""Tables of tournaments that are paired by results, in addition to ratings: by place, and a bracket."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.results.by_place import BracketPlace, EventTables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.results.place_table import PlaceRow
    from arena.schedules.bracket_state import Bracket
    from arena_db.records import TournamentRecord
    from arena_db.store import Store


def event_tables(store: Store, record: TournamentRecord) -> EventTables | None:
    """Return the places, and the bracket of a knockout, from the results so far.

    None for types other than Swiss and knockout, and before the tournament began.

    Raises:
        ConfigError: the stored configuration cannot be parsed.
    """
    if record.type not in {"swiss", "knockout"} or not record.has_begun:
        return None
    # Imported here: viewers of other tournaments need no schedules.
    from arena.coordinator.config import parse_toml
    from arena.coordinator.kinds import knockout_of, swiss_of
    from arena.coordinator.plan_view import EventView
    from arena.results.brackets import bracket_rows
    from arena.results.place_table import place_rows

    config = parse_toml(record.config, f"the stored configuration of {record.name}")
    event = EventView(store, record)
    view = event.look(event.basis(), record.decision)
    labels = [who.label for who in view.seats]
    if record.type == "swiss":
        swiss = swiss_of(config)
        num_begun = len(swiss.rounds_of(view))
        return EventTables(
            place_rows(swiss.meetings(view), labels), [], [], f"round {num_begun} of {swiss.rounds}"
        )
    bracket = knockout_of(config, len(labels)).bracket(view)
    found = [
        BracketPlace(place, label) for place, label in zip(bracket.places(len(labels)), labels, strict=True)
    ]
    # Bots that are still in have no place yet and come first.
    places = sorted(found, key=lambda row: row.place or 0)
    return EventTables([], places, bracket_rows(bracket, labels), _stage_text(bracket, labels))


def _stage_text(bracket: Bracket, labels: Sequence[str]) -> str:
    """Return the encounters that a knockout waits for, or its winner."""
    stage = bracket.stage
    if not stage:
        last = bracket.decisive
        winner = None if last is None else last.winner
        return "nobody wins the knockout" if winner is None else f"{labels[winner]} wins the knockout"
    names = " and ".join(dict.fromkeys(tie.shape.round_name for tie in stage))
    # A bye is not an encounter.
    played = [tie for tie in stage if tie.why != "bye"]
    num_decided = sum(tie.state == "decided" for tie in played)
    return f"{names}: {num_decided} of {len(played)} encounters decided" if len(played) > 1 else names


def place_rows_of(store: Store, record: TournamentRecord) -> list[PlaceRow]:
    """Return the table by place of any tournament; for a Swiss tournament with its rounds and byes.

    In other tournaments all rated matches of two bots are one encounter.
    """
    from arena.results.place_table import place_table

    tables = event_tables(store, record) if record.type == "swiss" else None
    return place_table(store, record) if tables is None else tables.places

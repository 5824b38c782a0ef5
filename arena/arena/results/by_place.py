"""The tables of events that are paired by results, as values: places, and a bracket."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from arena.results.brackets import BracketRow
    from arena.results.place_table import PlaceRow


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
    progress: str
    """How far it is: `round 3 of 7`, `semifinal: 1 of 2 encounters decided`, `mcts wins the knockout`."""

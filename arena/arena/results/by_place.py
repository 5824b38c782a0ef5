"""Tables of tournaments that are paired by results (Swiss, knockout): places and a bracket."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from arena.results.brackets import BracketRow
    from arena.results.place_table import PlaceRow


class BracketPlace(NamedTuple):
    """The place of a bot in a knockout."""

    place: int | None
    """Place, from 1, shared by bots that lost in the same round; None for a bot that has not been
    eliminated."""
    name: str


class EventTables(NamedTuple):
    """The tables of a Swiss tournament or a knockout."""

    places: list[PlaceRow]
    """Swiss tournament: places with tie-breaks, best first; otherwise empty."""
    bracket_places: list[BracketPlace]
    """Knockout: places, best first; otherwise empty."""
    bracket: list[BracketRow]
    """Knockout: encounters in an order in which they can be decided; otherwise empty."""
    progress: str
    """Progress, such as `round 3 of 7`, `semifinal: 1 of 2 encounters decided` or `mcts wins the
    knockout`."""

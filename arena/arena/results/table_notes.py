"""Notes on the limitations of a table's numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from arena.results.tested import notes_on_tests

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.results.tables import Table

_REPLAYED: Final = (
    "Ratings and errors are corrected by replays of the event: it was paired by its own results, which makes "
    "a field look wider than it is."
)
_NOT_REPLAYED: Final = (
    "Ratings and errors are not replayed yet: the event is paired by its own results, which makes the field "
    "look wider than it is, with errors that are too small. They are corrected when it ends."
)
UNBOUNDED: Final = (
    "?: unbeaten or winless against the rest; results bound its rating on one side only, the figure "
    "comes from the prior."
)
"""Explanation of the sign `?` after a rating."""
SPLIT: Final = (
    "1.1, 2.1: the first bots of two tables that no match connects; ratings of different tables cannot be "
    "compared."
)
"""Explanation of ranks with two parts, where several tables are shown as one."""


def notes_on(tables: Sequence[Table]) -> list[str]:
    """Return all notes on tables, as sentences."""
    return [*notes_on_tests(tables), *notes_on_replays(tables)]


def notes_on_replays(tables: Sequence[Table]) -> list[str]:
    """Return the notes on tournaments that were paired by their own results."""
    if any(table.replayed for table in tables):
        return [_REPLAYED]
    return [_NOT_REPLAYED] if any(table.replayed is False for table in tables) else []

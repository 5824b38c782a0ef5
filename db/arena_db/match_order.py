"""Sort orders of matches and positions in them: plain values, so that a screen need not import SQL."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

Order: TypeAlias = Literal["number", "date", "plies", "duration"]
"""Keys that a list of matches can be sorted by; each has an index, and ties are sorted by id."""


class OrderPlace(NamedTuple):
    """The position of a match in a sort order."""

    key: float
    """Value of the sort key."""
    id: int


class Piece(NamedTuple):
    """The result of searching some matches."""

    ids: tuple[int, ...]
    """Ids of the matches that fit, in order."""
    num_searched: int
    """Number of matches searched, or of ids, unused ones included."""
    end: OrderPlace | None
    """The last match searched, after which the next piece begins; None at the end."""

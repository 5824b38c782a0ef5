"""Orders of a list of matches, and places in them: plain values, so that a screen need not load SQL."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

Order: TypeAlias = Literal["number", "date", "plies", "duration"]
"""What a list of matches can be sorted by: each has an index, ties go by number."""


class OrderPlace(NamedTuple):
    """Where a match stands in an order."""

    key: float
    """What is sorted by."""
    id: int


class Piece(NamedTuple):
    """What a look at some matches found."""

    ids: tuple[int, ...]
    """Of those that fit, in order."""
    num_searched: int
    """How many were looked at; of numbers that nobody has, too."""
    end: OrderPlace | None
    """The last one that was looked at, behind which the next piece begins; None at the end."""

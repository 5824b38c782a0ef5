"""Counters at the start of every search's memory, whatever the game."""

from __future__ import annotations

NODES = 0
"""Index of the number of positions searched."""
BUDGET = 1
"""Index of the number of positions at which the search aborts."""
ABORTED = 99
"""Returned in place of a score when the budget is used up."""

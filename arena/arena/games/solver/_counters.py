"""Where the memory of a search, whatever the game, begins: with its counters."""

from __future__ import annotations

NODES = 0
"""Index of the number of positions searched."""
BUDGET = 1
"""Index of the number of positions at which the search gives up."""
ABORTED = 99
"""Instead of a score: the budget is spent."""

"""The names of bots in the tournaments of a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena_db import planning
from arena_db.access import Access

if TYPE_CHECKING:
    from arena_db.records import Entered


class NamesReading(Access):
    """The part of a store that finds bots by name."""

    def has_entrant(self, name: str) -> bool:
        """Return whether any bot of any tournament has this name, spec or label, as in `MatchFilter.bot`."""
        with self._read() as connection:
            return planning.has_entrant(connection, name)

    def entries(self, name: str) -> list[Entered]:
        """Return the entries of bots with this name, spec or label, by tournament and seat."""
        with self._read() as connection:
            return planning.list_entries(connection, name)

    def entrant_labels(self) -> list[str]:
        """Return all labels that bots have had in tournaments, each once, sorted."""
        with self._read() as connection:
            return planning.list_entrant_labels(connection)

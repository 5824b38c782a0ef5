"""The matches of two bots of a tournament, pair by pair."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.leaderboard.sides import POINTS
from arena.rating.encounter import EncounterCounts, MatchResult, count_encounter
from arena_plugins import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable

    from arena_db.records import PlannedMatch, StoredMatch


class Encounters:
    """Collects rated matches of a tournament and counts those of any two bots."""

    def __init__(self, planned: Iterable[PlannedMatch]) -> None:
        self._planned = {match.number: match for match in planned}
        self._results: dict[int, list[tuple[int, MatchResult]]] = {}

    def add(self, number: int, outcome: str, match_hash: str) -> int:
        """Add the rated match of that number; give its encounter."""
        match = self._planned[number]
        result = MatchResult(match.match_no // 2, True, POINTS[Outcome(outcome)], match_hash)  # noqa: FBT003
        self._results.setdefault(match.encounter, []).append((match.first, result))
        return match.encounter

    def add_stored(self, matches: Iterable[StoredMatch]) -> None:
        """Add what the store holds; void and unrated matches are passed over."""
        for match in matches:
            if match.rated:
                self.add(match.number, match.outcome, match.match_hash)

    def seats(self, encounter: int) -> tuple[int, int]:
        """Give both seats of an encounter, the one named first on the command line first."""
        match = next(match for match in self._planned.values() if match.encounter == encounter)
        return min(match.first, match.second), max(match.first, match.second)

    def encounters(self) -> list[int]:
        """List the encounters with at least one match."""
        return sorted(self._results)

    def count(self, encounter: int) -> EncounterCounts:
        """Count an encounter as the bot named first on the command line sees it."""
        seat, _ = self.seats(encounter)
        return count_encounter(
            result if first == seat else MatchResult(result.pair, False, 1 - result.score, result.match_hash)  # noqa: FBT003
            for first, result in self._results.get(encounter, [])
        )

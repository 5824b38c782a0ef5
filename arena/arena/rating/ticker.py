"""Incremental Elo for live display; it depends on the order of matches and is not a rating."""

from __future__ import annotations

from dataclasses import dataclass, field

from arena.rating.model import MEAN_ELO
from arena.rating.pairs import expected_score


@dataclass(slots=True)
class Ticker:
    """Elo updated after each match; shown with a `~`."""

    k: float = 16.0
    """Maximum Elo that a match can move."""
    elo: dict[str, float] = field(default_factory=dict[str, float])
    """Current figure of each bot that has played."""

    def update(self, first: str, second: str, score: float) -> None:
        """Update both bots after a match.

        Args:
            first: name of the bot that moved first.
            second: name of the other.
            score: points of the first, 1, 0.5 or 0.
        """
        change = self.k * (score - expected_score(self.of(first) - self.of(second)))
        self.elo[first], self.elo[second] = self.of(first) + change, self.of(second) - change

    def of(self, bot: str) -> float:
        """Return the current figure of a bot; 1500 before its first match."""
        return self.elo.get(bot, MEAN_ELO)

"""The crosstable: how every bot did against every other."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import msgspec

from arena.leaderboard.sides import POINTS
from arena_db.records import MatchFilter
from arena_plugins import Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena_db.records import TournamentRecord
    from arena_db.store import Store


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One bot against another, seen by the bot of the row."""

    bot: str
    opponent: str
    wins: int = 0
    draws: int = 0
    losses: int = 0

    @property
    def score(self) -> float | None:
        """Points per match; None where they have not met."""
        games = self.wins + self.draws + self.losses
        return (self.wins + self.draws / 2) / games if games else None


class Crosstable(msgspec.Struct, frozen=True):
    """All bots of a tournament, best first, against one another."""

    names: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]
    """`[row][column]`; the diagonal is empty."""


def crosstable(store: Store, tournament: TournamentRecord, order: Sequence[str]) -> Crosstable:
    """Give the crosstable of a tournament with its bots in `order`, by label."""
    labels = {entrant.seat: entrant.label for entrant in store.entrants(tournament.id)}
    points: dict[tuple[str, str], Counter[float]] = defaultdict(Counter)
    for tally in store.tallies(MatchFilter(tournament=tournament.name)):
        first, second = labels[tally.first_seat], labels[tally.second_seat]
        score = POINTS[Outcome(tally.outcome)]
        points[first, second][score] += tally.num_matches
        points[second, first][1 - score] += tally.num_matches
    return Crosstable(
        tuple(order), tuple(tuple(_cell(bot, other, points[bot, other]) for other in order) for bot in order)
    )


def _cell(bot: str, opponent: str, points: Counter[float]) -> Cell:
    return Cell(bot=bot, opponent=opponent, wins=points[1.0], draws=points[0.5], losses=points[0.0])

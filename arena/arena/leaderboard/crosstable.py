"""The crosstable: how every bot did against every other."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import msgspec

from arena.errors import ConfigError
from arena_db.records import MatchFilter
from arena_plugins import Outcome

if TYPE_CHECKING:
    from arena_db.store import Store


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One bot against another, seen by the bot of the row."""

    bot: str
    opponent: str
    wins: int = 0
    draws: int = 0
    losses: int = 0

    @property
    def games(self) -> int:
        """Matches in all."""
        return self.wins + self.draws + self.losses

    @property
    def score(self) -> float | None:
        """Points per match; None where they have not met."""
        return (self.wins + self.draws / 2) / self.games if self.games else None


class Crosstable(msgspec.Struct, frozen=True):
    """All bots of a tournament, best first, against one another."""

    names: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]
    """`[row][column]`; the diagonal is empty."""


def crosstable(store: Store, tournament: str, order: tuple[str, ...]) -> Crosstable:
    """Give the crosstable of a tournament with its bots in `order`, by label."""
    record = store.tournament(tournament)
    if record is None:
        raise ConfigError(f"no tournament {tournament}")
    labels = {entrant.seat: entrant.label for entrant in store.entrants(record.id)}
    results: dict[tuple[str, str], dict[str, int]] = defaultdict(lambda: {"wins": 0, "draws": 0, "losses": 0})
    for tally in store.tallies(MatchFilter(tournament=record.name)):
        if not tally.rated:
            continue
        first, second = labels[tally.first_seat], labels[tally.second_seat]
        if tally.outcome == Outcome.DRAW:
            keys = ("draws", "draws")
        else:
            keys = ("wins", "losses") if tally.outcome == Outcome.FIRST else ("losses", "wins")
        results[first, second][keys[0]] += tally.num_matches
        results[second, first][keys[1]] += tally.num_matches
    return Crosstable(
        order,
        tuple(
            tuple(Cell(bot=bot, opponent=opponent, **results[bot, opponent]) for opponent in order)
            for bot in order
        ),
    )

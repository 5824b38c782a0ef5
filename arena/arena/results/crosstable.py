"""The crosstable: how every bot did against every other."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING

import msgspec

from arena.rating.fit import head_to_head
from arena.results.book import RatedMatches
from arena.results.counts import counts_of
from arena_db.records import MatchFilter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.rating.ratings import Gap
    from arena.results.counts import EncounterCounts
    from arena_db.records import TournamentRecord
    from arena_db.store import Store


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One bot against another, seen by the bot of the row."""

    bot: str
    opponent: str
    wins: int = 0
    draws: int = 0
    losses: int = 0
    moving_first: tuple[int, int, int] = (0, 0, 0)
    """Wins, draws and losses of the matches in which the bot of the row moved first."""
    pairs: int = 0
    """Complete pairs."""
    different_pairs: int = 0
    """Those that count: one an opening where most matches repeat earlier ones."""
    openings: int = 0
    elo: float | None = None
    """Elo of the row's bot above the column's, by these matches alone; None where they have not met."""
    error: float | None = None
    """Half of its 95 % interval, Elo."""
    elo_low: float | None = None
    """Lower end of the interval; None where no result bounds it."""
    elo_high: float | None = None
    los: float | None = None
    """Likelihood of being the stronger of the two."""

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


def crosstable(
    store: Store, tournament: TournamentRecord, order: Sequence[str], book: RatedMatches | None = None
) -> Crosstable:
    """Return the crosstable of a tournament with its bots in `order`, by label.

    Args:
        store: where it is.
        tournament: whose matches.
        order: labels of the bots.
        book: of the tournament's matches, if one was read before.
    """
    labels = {entrant.seat: entrant.label for entrant in store.entrants(tournament.id)}
    if book is None:
        book = RatedMatches(MatchFilter(tournament=tournament.name))
    book.update(store)
    encounters = book.of_tournament(tournament.id, {seat: seat for seat in labels})
    cells: dict[tuple[str, str], Cell] = {}
    for place, gap in enumerate(head_to_head(encounters)):
        one, other = labels[int(encounters.low[place])], labels[int(encounters.high[place])]
        counts = counts_of(encounters, place)
        wins, draws, losses = counts.moving_second
        cells[one, other] = _cell(one, other, counts, gap)
        seen = replace(counts, wins=counts.losses, losses=counts.wins, moving_first=(losses, draws, wins))
        cells[other, one] = _cell(other, one, seen, gap.reversed())
    return Crosstable(
        tuple(order),
        tuple(
            tuple(cells.get((bot, other)) or Cell(bot=bot, opponent=other) for other in order)
            for bot in order
        ),
    )


def _cell(bot: str, opponent: str, counts: EncounterCounts, gap: Gap) -> Cell:
    return Cell(
        bot=bot,
        opponent=opponent,
        wins=counts.wins,
        draws=counts.draws,
        losses=counts.losses,
        moving_first=counts.moving_first,
        pairs=counts.num_pairs,
        different_pairs=counts.num_unique_pairs,
        openings=counts.num_openings,
        elo=gap.elo,
        error=gap.error,
        elo_low=gap.low if isfinite(gap.low) else None,
        elo_high=gap.high if isfinite(gap.high) else None,
        los=gap.los,
    )

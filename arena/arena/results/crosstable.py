"""The crosstable: the results of every bot against every other; each cell is an encounter."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

import msgspec

from arena.live.table_views import MatrixCell, MatrixView
from arena.results.counts import score_of
from arena.results.encounter import meetings
from arena.results.one_moment import at_one_moment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arena.results.counts import HeadToHead
    from arena.results.rated_matches import RatedMatches
    from arena_db.records import TournamentRecord
    from arena_db.store import Store


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """Results of one bot against another, from the point of view of the bot of the row."""

    bot: str
    opponent: str
    wins: int = 0
    draws: int = 0
    losses: int = 0
    moving_first: tuple[int, int, int] = (0, 0, 0)
    """Wins, draws and losses of the matches in which the bot of the row moved first."""
    moving_second: tuple[int, int, int] = (0, 0, 0)
    pairs: int = 0
    """Number of complete pairs."""
    different_pairs: int = 0
    """Number of pairs that count: all, or one per opening if most matches repeat earlier ones."""
    openings: int = 0
    elo: float | None = None
    """Elo difference, row minus column, from the matches of the two bots alone; None without any."""
    error: float | None = None
    """Half of the 95 % interval of `elo`."""
    elo_low: float | None = None
    """Lower end of the interval; None if no result bounds it."""
    elo_high: float | None = None
    los: float | None = None
    """Likelihood of superiority: the probability that the bot of the row is the stronger one."""
    forfeits: int = 0
    """Number of matches that the bot of the row forfeited; they are included in its losses."""
    opponent_forfeits: int = 0

    @property
    def games(self) -> int:
        """Number of matches."""
        return self.wins + self.draws + self.losses

    @property
    def score(self) -> float | None:
        """Points per match; None if the bots have not met."""
        return score_of((self.wins, self.draws, self.losses))


class Crosstable(msgspec.Struct, frozen=True):
    """All bots of a tournament, best first, with their results against one another."""

    names: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]
    """Cells, `[row][column]`; the diagonal is empty."""


@at_one_moment
def crosstable(
    store: Store, tournament: TournamentRecord, order: Sequence[str], book: RatedMatches | None = None
) -> Crosstable:
    """Return the crosstable of a tournament, with rows and columns in a given order.

    Args:
        store: the store with the tournament.
        tournament: the tournament.
        order: labels of the bots.
        book: the tournament's matches, if the caller has read them.
    """
    labels = {entrant.seat: entrant.label for entrant in store.tournaments.entrants(tournament.id)}
    cells = {
        (labels[one], labels[other]): cell_of(labels[one], labels[other], met)
        for (one, other), met in meetings(store, tournament, book).items()
    }
    return Crosstable(
        tuple(order),
        tuple(
            tuple(cells.get((bot, other)) or Cell(bot=bot, opponent=other) for other in order)
            for bot in order
        ),
    )


def matrix_view(
    cross: Crosstable, labels: Mapping[str, str], title: str, places: Sequence[str] = ()
) -> MatrixView:
    """Return a crosstable as the dashboard shows it.

    Args:
        cross: the crosstable.
        labels: labels of the bots on all screens, by their names in the tournament.
        title: heading.
        places: places of the bots in the standings, in the order of the crosstable; 1, 2, ... if empty.
    """
    return MatrixView(
        names=cross.names,
        labels=tuple(labels[name] for name in cross.names),
        ranks=tuple(places or map(str, range(1, len(cross.names) + 1))),
        cells=tuple(
            tuple(None if cell.bot == cell.opponent else _matrix_cell(cell) for cell in line)
            for line in cross.cells
        ),
        title=title,
    )


def cell_of(bot: str, opponent: str, met: HeadToHead) -> Cell:
    """Return an encounter as a cell from the point of view of `bot`, with the names of both bots."""
    counts, gap = met.counts, met.gap
    return Cell(
        bot=bot,
        opponent=opponent,
        wins=counts.wins,
        draws=counts.draws,
        losses=counts.losses,
        moving_first=counts.moving_first,
        moving_second=counts.moving_second,
        pairs=counts.num_pairs,
        different_pairs=counts.num_unique_pairs,
        openings=counts.num_openings,
        elo=gap.elo,
        error=gap.error,
        elo_low=gap.low if isfinite(gap.low) else None,
        elo_high=gap.high if isfinite(gap.high) else None,
        los=gap.los,
        forfeits=counts.forfeits[0],
        opponent_forfeits=counts.forfeits[1],
    )


def _matrix_cell(cell: Cell) -> MatrixCell:
    return MatrixCell(
        games=cell.games,
        wins=cell.wins,
        draws=cell.draws,
        losses=cell.losses,
        first_score=score_of(cell.moving_first),
        second_score=score_of(cell.moving_second),
        pairs=cell.pairs,
        different_pairs=cell.different_pairs,
        openings=cell.openings,
        elo=cell.elo,
        error=cell.error,
        is_bounded=cell.elo_low is not None and cell.elo_high is not None,
        los=cell.los,
        forfeits=(cell.forfeits, cell.opponent_forfeits),
    )

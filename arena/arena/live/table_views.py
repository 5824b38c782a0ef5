"""View-models of tables: standings, crosstable, lists of matches, charts."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from arena.live.views import RESULTS, end_word
from arena.naming import match_address

Standing: TypeAlias = Literal["", "new", "in", "left", "out"]
"""State of a bot that is new to a ladder, is still in a knockout, has left, or is disqualified."""


class StandingRow(msgspec.Struct, frozen=True, kw_only=True):
    """A bot in the standings."""

    rank: int
    """Rank in the table, from 1; 0 while it is undecided."""
    table: int = 0
    """Number of the table, from 1, if matches do not connect all bots; 0 if there is only one table."""
    name: str
    label: str
    elo: float
    error: float | None
    """Half of the 95 % interval, Elo; None without matches."""
    elo_low: float | None = None
    """Lower end of the interval; None if no result bounds the rating from below."""
    elo_high: float | None = None
    rests_on_prior: bool = False
    """Whether no chain of results bounds the rating on both sides; shown as `?`."""
    games: int = 0
    wins: int = 0
    draws: int = 0
    losses: int = 0
    points: float = 0.0
    score_first: float | None = None
    """Points per match when moving first, 0 to 1."""
    score_second: float | None = None
    faults: int = 0
    los: float | None = None
    """Likelihood of superiority over the next bot in rank."""
    tested: int = 0
    """Number of the bot's matches that belong to sequential tests; shown as `*`."""
    trend: tuple[float, ...] = ()
    """Elo over time, oldest first."""
    standing: Standing = ""

    @property
    def place(self) -> str:
        """The rank as text: `3`, `2.1` for the first bot of the second table, `-` while it is undecided."""
        if not self.rank:
            return "-"
        return f"{self.table}.{self.rank}" if self.table else str(self.rank)


class StandingsView(msgspec.Struct, frozen=True, kw_only=True):
    """A rating table, best first."""

    title: str = ""
    game: str = ""
    """Canonical spec of a leaderboard's game."""
    pool: str = ""
    """Name of a leaderboard's pool."""
    rows: tuple[StandingRow, ...] = ()
    seq: int = 0
    """Number of the newest result that is included; viewers compare it to see whether the table is
    outdated."""
    notes: tuple[str, ...] = ()
    """Notes on the rows, in sentences."""
    doing: str = ""
    """The work in progress while the table is missing; empty once it is there."""


class MatrixCell(msgspec.Struct, frozen=True, kw_only=True):
    """Results of the bot of a row against the bot of a column."""

    games: int = 0
    wins: int = 0
    draws: int = 0
    losses: int = 0
    first_score: float | None = None
    """Points per match of the row's bot when it moved first."""
    second_score: float | None = None
    pairs: int = 0
    """Number of complete pairs."""
    different_pairs: int = 0
    """Number of pairs with different moves; the error counts equal pairs once."""
    openings: int = 0
    """Number of different openings."""
    elo: float | None = None
    """Elo difference, row minus column."""
    error: float | None = None
    """Half of the 95 % interval of `elo`."""
    is_bounded: bool = True
    """Whether results bound the difference on both sides; if not, it is shown as `?`."""
    los: float | None = None
    """Likelihood that the row's bot is the stronger one."""
    forfeits: tuple[int, int] = (0, 0)
    """Matches forfeited by the row's bot and by the column's bot."""

    @property
    def score(self) -> float | None:
        """Points per match, 0 to 1; None without matches."""
        return (self.wins + self.draws / 2) / self.games if self.games else None


class MatrixView(msgspec.Struct, frozen=True, kw_only=True):
    """A crosstable, in the order of the standings."""

    names: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    ranks: tuple[str, ...] = ()
    """Places in the standings, from 1, used as column headers."""
    cells: tuple[tuple[MatrixCell | None, ...], ...] = ()
    """Cells by row and column, `[bots, bots]`; None on the diagonal."""
    title: str = ""
    doing: str = ""
    """The work in progress while the table is missing; empty once it is there."""

    @property
    def games_text(self) -> str:
        """The smallest and the largest number of matches of a cell: `n 20-21`."""
        games = [cell.games for row in self.cells for cell in row if cell is not None]
        if not games:
            return "n 0"
        return f"n {min(games)}" if min(games) == max(games) else f"n {min(games)}-{max(games)}"


class MatchRow(msgspec.Struct, frozen=True, kw_only=True):
    """A stored match in a list."""

    stored: int
    """Id of the match in the store."""
    number: int
    """Number within the tournament, from 1."""
    attempt: int = 0
    names: tuple[str, str]
    outcome: Literal["first", "second", "draw", "void"]
    termination: str
    plies: int
    t: float
    """Start, in seconds since 1970 (UTC)."""
    tournament: str = ""
    game: str = ""
    void_reason: str = ""
    """Why the match was declared void; empty if it is valid."""
    duration_ms: int = 0
    opening: str = ""
    """Moves of the opening, separated by blanks; empty for the empty board."""
    mistakes: int | None = None
    """Number of mistakes of both bots according to the latest grading; None if there is none."""

    @property
    def address(self) -> str:
        """Address of the match: `live1/89`."""
        return match_address(self.tournament, self.number, self.attempt, self.outcome)

    @property
    def end(self) -> str:
        """The end in one word."""
        return end_word(self.termination, self.void_reason)

    @property
    def result(self) -> str:
        """1-0, 0-1, 1/2 or void."""
        return RESULTS[self.outcome]


class Point(msgspec.Struct, frozen=True):
    """A point of a line chart."""

    x: float
    y: float


class Series(msgspec.Struct, frozen=True):
    """A line of a chart."""

    name: str
    points: tuple[Point, ...]
    """The points, by ascending x."""

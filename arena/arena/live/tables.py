"""View-models of tables that the store gives: standings, crosstable, matches."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from arena.live.views import RESULTS, end_word
from arena.naming import match_address

Standing: TypeAlias = Literal["", "new", "in", "left", "out"]
"""Of a bot that is new to a ladder, is still in a knockout, has left, or is disqualified."""


class StandingRow(msgspec.Struct, frozen=True, kw_only=True):
    """A bot in the standings."""

    rank: int
    """Place in its table, from 1; 0 where it is not decided yet."""
    table: int = 0
    """Which of several tables that no match connects, from 1; 0 where there is one alone."""
    name: str
    label: str
    elo: float
    error: float | None
    """Half of the 95 % interval, Elo; None without matches."""
    elo_low: float | None = None
    """Lower end of the interval; None where no result bounds the rating from below."""
    elo_high: float | None = None
    rests_on_prior: bool = False
    """No chain of results bounds the rating on both sides; shown as `?`."""
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
    """Likelihood of being stronger than the next."""
    tested: int = 0
    """Of its matches, those of sequential tests; shown as `*`."""
    trend: tuple[float, ...] = ()
    """Elo over time, oldest first."""
    standing: Standing = ""

    @property
    def place(self) -> str:
        """How the rank is written: `3`, `2.1` for the first bot of the second table, `-` where it is open."""
        if not self.rank:
            return "-"
        return f"{self.table}.{self.rank}" if self.table else str(self.rank)


class StandingsView(msgspec.Struct, frozen=True, kw_only=True):
    """A rating table, best first."""

    title: str = ""
    game: str = ""
    """Of a leaderboard: the canonical spec of its game."""
    pool: str = ""
    """Of a leaderboard: the name of its pool."""
    rows: tuple[StandingRow, ...] = ()
    seq: int = 0
    """The newest result that is in it, so that a viewer knows whether it is behind."""
    notes: tuple[str, ...] = ()
    """What a reader must know of its rows, in sentences."""
    doing: str = ""
    """What is being done, where the table is not there yet; empty where it is."""


class MatrixCell(msgspec.Struct, frozen=True, kw_only=True):
    """The matches of the bot of a row against that of a column."""

    games: int = 0
    wins: int = 0
    draws: int = 0
    losses: int = 0
    first_score: float | None = None
    """Points per match of the row's bot when it moved first."""
    second_score: float | None = None
    pairs: int = 0
    """Complete pairs."""
    different_pairs: int = 0
    """Those that count."""
    openings: int = 0
    """Different openings."""
    elo: float | None = None
    """Elo difference, row minus column."""
    error: float | None = None
    """Half of its 95 % interval."""
    is_bounded: bool = True
    """Whether results bound the difference on both sides; if not it is shown as `?`."""
    los: float | None = None
    """Likelihood that the row's bot is the stronger one."""
    forfeits: tuple[int, int] = (0, 0)
    """Matches that the row's bot forfeited, and the column's."""

    @property
    def score(self) -> float | None:
        """Points per match, 0 to 1; None without matches."""
        return (self.wins + self.draws / 2) / self.games if self.games else None


class MatrixView(msgspec.Struct, frozen=True, kw_only=True):
    """A crosstable, in the order of the standings."""

    names: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    ranks: tuple[str, ...] = ()
    """Places in the standings, from 1; they head the columns."""
    cells: tuple[tuple[MatrixCell | None, ...], ...] = ()
    """`[bots, bots]`; None on the diagonal."""
    title: str = ""
    doing: str = ""
    """What is being done, where the table is not there yet; empty where it is."""

    @property
    def games_text(self) -> str:
        """The least and the greatest number of matches of a cell: `n 20-21`."""
        games = [cell.games for row in self.cells for cell in row if cell is not None]
        if not games:
            return "n 0"
        return f"n {min(games)}" if min(games) == max(games) else f"n {min(games)}-{max(games)}"


class MatchRow(msgspec.Struct, frozen=True, kw_only=True):
    """A stored match in a list."""

    stored: int
    """The store's number."""
    number: int
    """Within the tournament, from 1."""
    attempt: int = 0
    names: tuple[str, str]
    outcome: Literal["first", "second", "draw", "void"]
    termination: str
    plies: int
    t: float
    """When it began, UTC seconds."""
    tournament: str = ""
    game: str = ""
    void_reason: str = ""
    """Why it is declared void; empty where it counts."""
    duration_ms: int = 0
    opening: str = ""
    """The moves that were given, with blanks between them; empty for the empty board."""
    mistakes: int | None = None
    """Of both bots, by whoever judged the match last; None where nobody did."""

    @property
    def address(self) -> str:
        """What the match is called: `live1/89`."""
        return match_address(self.tournament, self.number, self.attempt, self.outcome)

    @property
    def end(self) -> str:
        """One word for how it ended."""
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
    """By ascending x."""

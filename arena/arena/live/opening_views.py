"""View-models of openings: the next moves in a position, their scores, and their value under perfect play."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from arena.live.columns import TextColumn, lay_out
from arena.live.events import Started, make_event
from arena.live.reducer import reduce
from arena.live.views import LiveView, MatchView

if TYPE_CHECKING:
    from collections.abc import Iterable

PERFECT = {1: "wins", 0: "draws", -1: "loses"}
"""Words for the value of a move under perfect play, for the side that makes it."""


class NextMove(msgspec.Struct, frozen=True, kw_only=True):
    """A move that was played next; the fields are the keys of the JSON form."""

    move: str
    action: int
    twins: tuple[str, ...] = ()
    """Moves equivalent under a symmetry of the position; their matches are included."""
    games: int
    given: int
    """Number of the `games` in which the move belonged to the opening, so that no bot chose it."""
    wins: int
    """Wins of the side to move."""
    draws: int
    losses: int
    different: int
    """Number of matches with different moves; the interval counts equal matches once."""
    score: float
    """Points per match of the side to move, 0 to 1."""
    score_low: float
    """Lower end of the 95 % interval of `score`."""
    score_high: float
    perfect: int | None = None
    """Result under perfect play: 1, 0 or -1 if the side to move wins, draws or loses; None if unknown."""
    plies: int | None = None
    """Plies to the end under perfect play, the move included; None if unknown."""

    @property
    def moves(self) -> str:
        """The move with its equivalents: `3 (5)`."""
        return f"{self.move} ({' '.join(self.twins)})" if self.twins else self.move

    @property
    def verdict(self) -> str:
        """The value under perfect play, `wins in 13`; empty if unknown."""
        return "" if self.perfect is None else _verdict(self.perfect, self.plies)


class BestPlay(msgspec.Struct, frozen=True, kw_only=True):
    """Value of a legal action under perfect play; the fields are the keys of the JSON form."""

    move: str
    action: int
    perfect: int
    """Result under perfect play: 1, 0 or -1 if the side to move wins, draws or loses."""
    plies: int | None = None
    """Plies to the end under perfect play, the move included; None if unknown."""


class OpeningsView(msgspec.Struct, frozen=True, kw_only=True):
    """Statistics of the next moves in one position."""

    game: str
    """Canonical spec."""
    line: tuple[str, ...] = ()
    """The moves that lead to the position."""
    actions: tuple[int, ...] = ()
    """The moves of `line` as actions."""
    player: int = 0
    """The player to move, 0 or 1."""
    games: int = 0
    """Number of matches that reached the position."""
    transposed: int = 0
    """Number of the `games` that reached it by other moves, or reached a mirrored or rotated position."""
    ended: int = 0
    """Number of the `games` without a further move."""
    rows: tuple[NextMove, ...] = ()
    """The next moves, the most played first."""
    condition: str = ""
    """The condition that selects the matches, as text; empty for all rated ones."""

    @property
    def title(self) -> str:
        """The line and the number of its matches: `connect-four  4 4  120 matches  of bot:az`."""
        plural = "" if self.games == 1 else "es"
        line = " ".join(self.line) or "start"
        condition = f"  of {self.condition}" if self.condition else ""
        return f"{self.game}  {line}  {self.games} match{plural}{condition}"

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the numbers, in sentences."""
        said: list[str] = []
        if self.transposed:
            said.append(
                f"{self.transposed} of {self.games} came by other moves or mirrored; they are included."
            )
        if self.ended:
            said.append(f"{self.ended} of {self.games} ended in this position.")
        given = sum(row.given for row in self.rows)
        if given:
            said.append(f"{given} of the next moves were given by an opening, not chosen by a bot.")
        repeated = sum(row.games - row.different for row in self.rows)
        if repeated:
            said.append(f"{repeated} matches repeat earlier ones; intervals count equal matches once.")
        return tuple(said)


def best_line(known: Iterable[BestPlay]) -> str:
    """Return the best moves among the solved ones: `best play: 4 wins in 39`; empty if there are none.

    The winning side prefers the shortest win, the losing side the longest loss.
    """
    moves = list(known)
    if not moves:
        return ""
    ranks = {best.move: (best.perfect, -best.perfect * (best.plies or 0)) for best in moves}
    top = max(ranks.values())
    found = [best for best in moves if ranks[best.move] == top]
    return f"best play: {' '.join(best.move for best in found)} {_verdict(found[0].perfect, found[0].plies)}"


def _verdict(perfect: int, plies: int | None) -> str:
    return PERFECT[perfect] + (f" in {plies}" if plies and perfect else "")


def with_best_play(view: OpeningsView, known: Iterable[BestPlay]) -> OpeningsView:
    """Return a view with the known values under perfect play."""
    by_action = {best.action: best for best in known}
    return replace(
        view,
        rows=tuple(
            replace(row, perfect=by_action[row.action].perfect, plies=by_action[row.action].plies)
            if row.action in by_action
            else row
            for row in view.rows
        ),
    )


COLUMNS = (
    TextColumn("move", is_name=True),
    TextColumn("n"),
    TextColumn("share", 3),
    TextColumn("score"),
    TextColumn("95 %", 1),
    TextColumn("W-D-L", 4),
    TextColumn("different", 6),
    TextColumn("given", 5),
    TextColumn("best play", 2, is_name=True),
)


def cells_of(view: OpeningsView) -> list[tuple[str, ...]]:
    """Return the rows of a view as texts, in the order of `COLUMNS`."""
    moved = sum(row.games for row in view.rows)
    return [
        (
            row.moves,
            str(row.games),
            f"{100 * row.games / moved:.0f}%",
            f"{100 * row.score:.1f}%",
            f"{100 * row.score_low:.1f} to {100 * row.score_high:.1f}",
            f"{row.wins}-{row.draws}-{row.losses}",
            str(row.different),
            str(row.given),
            row.verdict or "-",
        )
        for row in view.rows
    ]


def position(game: str, actions: tuple[int, ...]) -> MatchView:
    """Return the position after some actions as a match without bots, so that a board can show it."""
    body = Started(bots=("first", "second"), game=game, opening=actions)
    event = make_event(1, body, t=0.0, match=1)
    return reduce(LiveView(), event).matches[1]


def opening_lines(view: OpeningsView, width: int | None = None) -> list[str]:
    """Return a view as lines of text: title, table, notes."""
    side = ("first", "second")[view.player]
    table = lay_out(COLUMNS, cells_of(view), width) if view.rows else ["no stored match continues from here"]
    return [view.title, f"scores are those of the {side} player, who moves", "", *table, *view.notes]

"""A board described in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from arena.live.plain import board_lines, clock_line, column_line, last_line, legal_line, row_line
from arena.live.replay_views import Recorded, Replay

if TYPE_CHECKING:
    from arena.live.views import MatchView


def match(game: str, *actions: int, **changes: object) -> MatchView:
    recorded = Recorded(
        game=game,
        bots=("human", "random"),
        actions=actions,
        num_opening=len(actions),
        outcome="draw",
        termination="rules",
        clock_ms=(60_000, 61_500),
        started_t=100.0,
    )
    view = Replay(recorded).at(len(actions))
    return replace(view, outcome="", **changes)


def test_connect_four() -> None:
    view = match("connect-four", 3, 3, 0)
    assert board_lines(view)[0] == "   1 2 3 4 5 6 7"
    assert board_lines(view)[-2:] == [" 2 . . . O . . .", " 1 X . . X . . ."]
    assert column_line(view, "4") == "column 4 from the bottom: X, O, 4 empty"
    assert column_line(view, "d") == "there is no column d; there are 1 2 3 4 5 6 7"
    assert row_line(view, "1") == "row 1 from the left: X, 2 empty, X, 3 empty"
    assert row_line(view, "7") == "there is no row 7; there are 6 5 4 3 2 1"
    assert last_line(view) == "last: X human plays 1"
    assert legal_line(view) == "legal: 1 2 3 4 5 6 7"


def test_gomoku_has_columns_of_two_letters_at_most_and_rows_of_two_digits() -> None:
    view = match("gomoku", 112)
    assert board_lines(view)[0].split()[:3] == ["a", "b", "c"]
    assert column_line(view, "h") == "column h from the bottom: 7 empty, X, 7 empty"
    assert row_line(view, "8") == "row 8 from the left: 7 empty, X, 7 empty"


def test_clocks() -> None:
    view = match("tic-tac-toe", 4)
    assert clock_line(view, 100.0) == "clock: first X 1:00.0, second O 1:01.5"
    assert clock_line(view, 101.0) == "clock: first X 1:00.0, second O 1:00.5"
    bare = replace(view, seats=tuple(replace(seat, clock_ms=None) for seat in view.seats))
    assert clock_line(bare, 100.0) == "clock: none in this match"


def test_evals_ends_and_games_that_are_gone() -> None:
    view = match("tic-tac-toe", 4)
    said = replace(view, moves=(replace(view.moves[0], eval=71.0),))
    assert last_line(said) == "last: X human plays b2, X wins 71 %"
    assert last_line(match("tic-tac-toe")) == "no move yet"
    assert legal_line(replace(view, outcome="draw")) == "legal: nothing, the match is over"
    gone = replace(match("tic-tac-toe"), game="no-such-game", columns=0, trouble="it is gone")
    assert board_lines(gone) == ["it is gone"]
    assert column_line(gone, "1") == "there is no column 1"
    assert "no-such-game" in legal_line(gone)

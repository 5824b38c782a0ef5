"""The screen of a person who plays: hover, clicks, keys, refusals, undo, hints, and all three games."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest
from textual.events import Click

from arena.coordinator.client import Link, NotStartedError
from arena.tui.screens.dashboard import Dashboard, StartPoint
from arena.tui.screens.play_screen import NARROWED, PlayScreen
from arena.tui.shell.keys import clashes
from arena.tui.widgets.play_board import PlayBoard
from play_screens import Board, played
from plays import LocalLink, config

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_the_mouse_moves_a_coin_and_a_ghost(tmp_path: Path) -> None:
    async def act(board: Board) -> None:
        await board.pilot.hover(PlayBoard, board.place(2, 3))
        assert board.widget.cursor == 2
        rows = board.text().splitlines()
        assert rows[3][1:37].strip() == "X", "the coin hangs above the board"
        assert rows[11][4:].startswith("|   |   | x |"), "the ghost lies in the lowest cell"
        await board.pilot.hover("HeaderLine")
        assert board.widget.cursor is None
        assert " x " not in board.text()
        assert not board.text().splitlines()[3][1:37].strip()

    played(tmp_path, act)


def test_a_click_plays_where_the_ghost_is(tmp_path: Path) -> None:
    async def act(board: Board) -> None:
        await board.pilot.click(PlayBoard, board.place(4, 2))
        await board.turn(1, 2)
        assert board.link.played[0].events("move")[0].ply == 1
        assert "| X |" in board.text()
        assert "|[O]|" in board.text()

    played(tmp_path, act)


def test_press_and_release_in_different_columns_play_nothing(tmp_path: Path) -> None:
    async def act(board: Board) -> None:
        await board.pilot.mouse_down(PlayBoard, board.place(1, 2))
        x, y = board.place(3, 2)
        region = board.widget.region
        event = Click(
            widget=board.widget,
            x=x,
            y=y,
            delta_x=0,
            delta_y=0,
            button=1,
            shift=False,
            meta=False,
            ctrl=False,
            screen_x=region.x + x,
            screen_y=region.y + y,
        )
        board.widget.post_message(event)
        await board.pilot.pause()
        assert board.at(1, 0)
        assert board.screen.seen.pending is None
        assert "your move" in board.text()

    played(tmp_path, act)


def test_a_double_click_plays_once(tmp_path: Path) -> None:
    async def act(board: Board) -> None:
        await board.pilot.click(PlayBoard, board.place(3, 2), times=2)
        await board.turn(1, 2)
        await board.pilot.pause()
        assert [event.ply for event in board.link.played[0].events("move")] == [1, 2]
        assert board.screen.seen.can_move

    played(tmp_path, act)


def test_the_own_coin_is_pending_until_the_referee_has_placed_it(tmp_path: Path) -> None:
    async def act(board: Board) -> None:
        board.link.hold.clear()
        await board.press("4")
        assert board.screen.seen.pending is not None
        assert "|(x)|" in board.text()
        assert "you play 4, asked" in board.text()
        await board.press("4")
        assert "not your turn" in board.text()
        board.link.hold.set()
        await board.turn(1, 2)
        assert "|(x)|" not in board.text()

    played(tmp_path, act)


def test_while_the_bot_thinks_hover_lives_and_a_drop_is_not_your_turn(tmp_path: Path) -> None:
    gate = threading.Event()

    async def act(board: Board) -> None:
        await board.turn()
        await board.press("4")
        await board.until(lambda: board.at(1, 1))
        assert "random thinks" in board.text()
        await board.pilot.hover(PlayBoard, board.place(2, 3))
        assert "| x |" in board.text()
        await board.pilot.click(PlayBoard, board.place(2, 3))
        assert "not your turn" in board.text()
        assert board.at(1, 1)
        gate.set()
        await board.turn(1, 2)

    played(tmp_path, act, gate=gate)


def test_arrows_pass_full_columns_and_enter_drops(tmp_path: Path) -> None:
    async def act(board: Board) -> None:
        # The bot answers in column 1, which three of its coins and three of the person's fill.
        for ply in (0, 2, 4):
            await board.turn(1, ply)
            await board.press("1")
        await board.turn(1, 6)
        await board.press("right")
        assert board.widget.cursor == 1, "from the full first column to the next one"
        await board.press("left")
        assert board.widget.cursor == 6, "past the full one, around the edge"
        await board.press("1")
        assert "not allowed" in board.text()
        await board.pilot.hover(PlayBoard, board.place(0, 2))
        assert board.text().splitlines()[3][1:37].strip() == "-", "no coin above a full column"
        await board.press("right", "enter")
        await board.turn(1, 8)
        assert board.screen.seen.match is not None
        assert board.screen.seen.match.actions[6] == 1

    played(tmp_path, act)


def test_cells_are_walked_with_arrows(tmp_path: Path) -> None:
    async def act(board: Board) -> None:
        await board.press("up")
        assert board.widget.cursor == 4, "the middle comes first"
        await board.press("up", "right", "right", "enter")
        await board.turn(1, 2)
        assert board.screen.seen.match is not None
        assert board.screen.seen.match.actions[0] == 0, "around the edge"
        await board.pilot.click(PlayBoard, (10, 5))
        await board.turn(1, 4)
        assert board.screen.seen.match.actions[2] == 4
        assert board.widget.words == "", "a digit is no move here"

    played(tmp_path, act, config())


def test_any_move_can_be_written(tmp_path: Path) -> None:
    async def act(board: Board) -> None:
        await board.press("colon", *"h8", "enter")
        await board.turn(1, 2)
        assert board.screen.seen.match is not None
        assert board.screen.seen.match.moves[0].text == "h8"
        await board.press("colon", *"h8", "enter")
        assert "not allowed" in board.text()
        await board.press("colon", *"z99", "enter")
        assert "not a move" in board.text()
        await board.press("colon", "escape", "u")
        await board.turn(2, 0)

    played(tmp_path, act, config(game="gomoku"), (120, 40))


def test_digits_belong_to_the_board_until_escape(tmp_path: Path) -> None:
    async def act(board: Board) -> None:
        assert "1-7 column" in board.text()
        await board.press("escape")
        assert "1-7 column" not in board.text()
        await board.press("4")
        assert board.screen.seen.pending is None
        assert board.at(1, 0)

    played(tmp_path, act)


def test_undo_hint_resign_and_new(tmp_path: Path) -> None:
    async def act(board: Board) -> None:
        await board.press("u")
        await board.until(lambda: "no move of yours" in board.text())
        await board.press("5")
        await board.turn(1, 2)
        await board.press("u")
        await board.turn(2, 0)
        await board.press("H")
        await board.until(lambda: "is what minimax:depth=1 would play" in board.text())
        assert board.screen.seen.hinted is not None
        assert board.widget.cursor == board.screen.seen.hinted, "the coin hangs over it"
        await board.press("R")
        assert "Resign this match?" in board.text()
        await board.press("n")
        assert board.at(2, 0)
        await board.press("R", "y")
        await board.until(lambda: "you lose: human resigns" in board.text())
        await board.press("R")
        assert "Resign" not in board.text().replace("R Resign", "").replace("human resigns", "")
        await board.press("n")
        await board.turn(3, 1)
        assert "you (O) v random (X)" in board.text()
        await board.press("n")
        assert "Leave this match" in board.text()
        await board.press("y")
        await board.turn(4, 0)
        await board.press("y")
        assert board.app.clipboard == "", "there is no move to copy"

    played(tmp_path, act, config(game="connect-four", hint="minimax:depth=1"))


def test_a_match_is_won(tmp_path: Path) -> None:
    async def act(board: Board) -> None:
        for ply in (0, 2, 4, 6):
            await board.turn(1, ply)
            await board.press("2")
        await board.until(lambda: "you win:" in board.text())
        assert "n new  u undo" in board.text()
        await board.press("3")
        assert "match is over" in board.text()
        await board.press("u")
        await board.turn(2, 6)

    played(tmp_path, act)


def test_rated_play_says_so(tmp_path: Path) -> None:
    async def act(board: Board) -> None:
        await board.press("4")
        await board.turn(1, 2)
        await board.press("u")
        await board.until(lambda: "no undo: this match is rated" in board.text())
        assert "rated" in board.text().splitlines()[0]

    link_settings = config(game="connect-four", rated=True)
    played(tmp_path, act, link_settings, (120, 30))


@pytest.mark.parametrize(
    ("keys", "shown"),
    [(("escape", "escape"), "live"), (("E",), "export"), (("escape", "3"), "matches"), (("q",), "")],
)
def test_every_way_out_of_a_match_asks_first(tmp_path: Path, keys: tuple[str, ...], shown: str) -> None:
    async def act(board: Board) -> None:
        await board.press("4")
        await board.turn(1, 2)
        await board.press(*keys)
        assert "Leave this match?" in board.text()
        assert "It ends without a result." in board.text()
        await board.press("n")
        assert board.app.current is board.screen
        await board.press("escape", *keys[-1:], "y")
        if shown:
            await board.until(lambda: board.app.current is not None and shown == board.app.current.NAME)
        else:
            await board.until(lambda: board.app._exit)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] # no public way tells

    played(tmp_path, act, among_others=True)


def test_a_click_on_a_tab_asks_as_well_and_what_is_over_is_left_at_once(tmp_path: Path) -> None:
    async def act(board: Board) -> None:
        await board.pilot.click("TabRow", (12, 0))
        await board.until(lambda: "Leave this match?" in board.text())
        assert "leaving it is a loss" in board.text()
        await board.press("n", "R", "y")
        await board.until(lambda: "you lose" in board.text())
        await board.press("E")
        await board.until(lambda: board.app.current is not None and board.app.current.NAME == "export")

    played(tmp_path, act, config(game="connect-four", rated=True), among_others=True)


def test_leaving_the_screen_ends_the_play(tmp_path: Path) -> None:
    async def act(board: Board) -> LocalLink:
        await board.press("4")
        await board.turn(1, 2)
        return board.link

    link = played(tmp_path, act)
    (match,) = link.played[0].matches()
    assert (match.outcome, match.termination) == ("void", "aborted")


def test_a_coordinator_that_ends_is_told_of_and_n_goes_on(tmp_path: Path) -> None:
    async def act(board: Board) -> None:
        await board.press("4")
        await board.turn(1, 2)
        board.link.played[0].signals.request = "abort"
        await board.until(lambda: board.screen.seen.is_dead)
        assert "no coordinator" in board.text()
        await board.press("4")
        assert board.screen.seen.pending is None
        await board.press("u")
        assert "the coordinator has ended" in board.text()
        await board.press("n")
        await board.until(lambda: len(board.link.played) == 2 and board.screen.seen.can_move)

    played(tmp_path, act)


class Failing(Link):
    """A connection to a coordinator that never starts."""

    def begin(self, is_wanted: Callable[[], bool] = lambda: True) -> Any:  # noqa: ANN401 # nothing ever
        """Fail."""
        del is_wanted
        raise NotStartedError("[/]\x1b[2J random does not start: crash", 5)


def test_a_bot_that_does_not_start_ends_the_app_with_its_status(tmp_path: Path) -> None:
    link = Failing(str(tmp_path / "a.db"), [])
    app = Dashboard(
        None, [PlayScreen], store=str(tmp_path / "a.db"), at=StartPoint(play=link), glyphs="ascii"
    )

    async def run() -> None:
        async with app.run_test() as pilot:
            for _ in range(1000):
                if app.return_code is not None:
                    break
                await pilot.pause(0.01)

    asyncio.run(run())
    assert app.return_code == 5


@pytest.mark.parametrize(
    ("game", "size"),
    [
        ("connect-four", (40, 12)),
        ("tic-tac-toe", (50, 15)),
        ("gomoku", (80, 24)),
        ("connect-four", (120, 40)),
    ],
)
def test_every_size_shows_the_board_and_whose_turn_it_is(
    tmp_path: Path, game: str, size: tuple[int, int]
) -> None:
    async def act(board: Board) -> None:
        assert "your move (X)" in board.text()
        await board.press("colon", *("4" if game == "connect-four" else "a1"), "enter")
        await board.turn(1, 2)
        assert "[O]" in board.text() or "O" in board.text()

    played(tmp_path, act, config(game=game), size)


def test_no_key_is_bound_twice(tmp_path: Path) -> None:
    async def act(board: Board) -> None:
        assert clashes(board.screen, NARROWED) == {}

    played(tmp_path, act)


def test_evil_texts_do_no_harm(tmp_path: Path) -> None:
    async def act(board: Board) -> None:
        for text in ("[/]", "[link=http://e]x", "\x1b[2J\x07", "\u202eabc", "a" * 5000):
            board.widget.post_message(PlayBoard.Refused(text))
            await board.pilot.pause()
            assert "\x1b" not in board.text()
        await board.press("colon", *"[/]", "enter")
        assert "your move" in board.text()

    played(tmp_path, act)

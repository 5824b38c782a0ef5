"""Every key of the design works on every screen, and the palette offers every action that has a key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from textual.command import CommandPalette

from arena.tui.screens.export_screen import ExportScreen
from arena.tui.screens.live_panels import WallPanel
from arena.tui.screens.live_screen import LiveScreen
from arena.tui.screens.new_events import NewPlayScreen, NewTournamentScreen
from arena.tui.screens.replay_screen import ReplayScreen
from arena.tui.shell.keys import HelpScreen
from arena.tui.shell.screen import FilterLine
from arena.tui.widgets.form import FormField, Push
from arena.tui.widgets.small_board import SmallBoard
from watching import press, seen, shown, watch

if TYPE_CHECKING:
    from pathlib import Path

    from textual.pilot import Pilot

    from arena.tui.screens.dashboard import Dashboard


@pytest.mark.parametrize("keys", ["1", "2", "3", "4", "5", "6", "7", "3 enter"])
def test_the_global_keys_work_on_every_screen(shown_store: Path, runs: Path, keys: str) -> None:
    assert runs.is_dir()

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, *keys.split())
        here = app.screen
        for key, top in (("question_mark", HelpScreen), ("f1", HelpScreen), ("ctrl+p", CommandPalette)):
            await pilot.press(key)
            await pilot.pause()
            assert isinstance(app.screen, top), key
            await pilot.press("escape")
            await pilot.pause()
        await pilot.press("T")
        await pilot.pause()
        assert app.screen is not here
        await pilot.press("escape")
        if not isinstance(here, ReplayScreen):
            await pilot.press("space")
            assert app.is_frozen
            await pilot.press("r")
            assert not app.is_frozen, "who asks anew wants to see it"
        await pilot.press("y")
        assert app.clipboard
        focused = app.screen.focused
        await pilot.press("tab", "shift+tab")
        assert app.screen.focused is focused
        assert focused is not None
        await pilot.press("m")
        assert here.maximized is focused
        await pilot.press("escape")
        assert here.maximized is None
        await press(pilot, "E")
        assert isinstance(app.screen, ExportScreen)
        assert app.screen.query_one("#field-filter", FormField).value

    shown(watch(shown_store), act)


def test_slash_narrows_what_is_shown_and_escape_widens_it(shown_store: Path, runs: Path) -> None:
    assert runs.is_dir()

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        for key, words, there, gone in (
            ("2", "MINI depth=2", "minimax:depth=2", "mcts"),
            ("4", "minimax", "matrix", "mcts"),
            ("5", "random", "random", "mcts"),
            ("6", "td", "td-", "zero"),
            ("7", "duel", "duel", "24/24"),
        ):
            await press(pilot, key, "slash", *words, "enter")
            body = seen(app).partition("8 Export")[2]
            assert there in body, key
            assert gone not in body.replace("arena ", ""), key
            await press(pilot, "slash", *"zz", "enter")
            assert not app.screen.query(f"{FilterLine.__name__}.-open")
            await press(pilot, "escape")
            assert gone in seen(app) or key == "6", key
        await press(pilot, "8", "slash")
        assert app.screen.focused is app.screen.query_one("#input-filter")

    shown(watch(shown_store), act, (100, 30))


def test_arrows_and_letters_go_from_board_to_board_and_page_to_page(shown_store: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        def place() -> str | None:
            return app.screen.focused.id if app.screen.focused else None

        wall = app.screen.query_one(WallPanel)
        assert place() == "board-0"
        for key, wanted in (
            *(("right", 1), ("l", 2), ("left", 1), ("h", 0), ("h", 0)),
            *(("down", 3), ("up", 0), ("j", 3), ("j", 3), ("k", 0)),
        ):
            await pilot.press(key)
            assert place() == f"board-{wanted}", key
        await press(pilot, "plus")
        assert wall.shown.num_pages > 1
        per_page = len(wall.shown.boards)
        await press(pilot, *["l"] * per_page)
        assert (wall.shown.page, place()) == (1, "board-0")
        await press(pilot, "h")
        assert (wall.shown.page, place()) == (0, f"board-{per_page - 1}")
        assert isinstance(app.screen.focused, SmallBoard)

    shown(watch(shown_store), act)


def test_up_and_down_go_through_a_form_and_letters_are_text_in_lines(shown_store: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "7", "n")
        screen = app.screen
        assert isinstance(screen, NewTournamentScreen)
        await press(pilot, "j")
        assert screen.query_one("#field-bots", FormField).value == "j"
        await press(pilot, "down")
        assert screen.focused is screen.query_one("#field-type")
        await press(pilot, "j")
        assert screen.focused is screen.query_one("#field-isolation")
        await press(pilot, "k", "up")
        assert screen.focused is screen.query_one("#input-bots")
        await press(pilot, "escape", "p")
        assert isinstance(app.screen, NewPlayScreen)
        app.screen.query_one("#push-copy", Push).focus()
        await press(pilot, "up")
        assert app.screen.focused is app.screen.query_one("#push-play")

    shown(watch(shown_store), act)


def test_what_keys_do_is_in_the_palette(shown_store: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        for keys, wanted in (
            ("1", {"Follow", "Evals", "Sort", "Pause", "Stop", "Larger boards", "Open", "Filter", "Play"}),
            ("2", {"All", "Game", "Export"}),
            ("4", {"Score/WDL/Elo", "Matches"}),
            ("7", {"New", "Resume"}),
        ):
            await press(pilot, keys)
            commands = {command.title: command for command in app.get_system_commands(app.screen)}
            assert wanted <= commands.keys(), keys
        await press(pilot, "1", "ctrl+p", *"Follow")
        await press(pilot, "enter")
        await pilot.pause()
        assert isinstance(app.screen, LiveScreen)
        assert "follow: on" in seen(app)

    shown(watch(shown_store), act)


def test_export_takes_the_filter_of_the_wall_along(shown_store: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "slash", *"bot:random", "enter", "E")
        value = app.screen.query_one("#field-filter", FormField).value
        assert value == "tournament:spring bot:random"

    shown(watch(shown_store), act)


def test_q_leaves(shown_store: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> int | None:
        await press(pilot, "5", "q")
        return app.return_code

    assert shown(watch(shown_store), act) == 0

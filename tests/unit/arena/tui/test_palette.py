"""The palette and `arena open` lead to every tournament, match and bot of the store."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, cast

import pytest
from textual.command import CommandPalette

from arena.results.addresses import Address, find_address
from arena.tui.screens.bots_screen import BotsScreen
from arena.tui.screens.dashboard import StartPoint
from arena.tui.screens.live_screen import LiveScreen
from arena.tui.screens.matches_screen import MatchesScreen
from arena.tui.screens.matrix_screen import MatrixScreen
from arena.tui.screens.page_screens import BotPageScreen
from arena.tui.screens.palette_search import PlaceSearch, StoreDashboard
from arena.tui.screens.replay_screen import ReplayScreen
from arena.tui.start import ALL_SCREENS, bot_app, watch_app
from arena.watching.places import read_place, search_places
from arena_db.store import Store
from dashboard import piloted, screen_lines, settle
from watching import Brief, press

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from textual.pilot import Pilot
    from textual.screen import Screen

    from arena.tui.screens.dashboard import Dashboard
    from arena.watching.places import Place
    from arena.watching.query import Query

STEPS = {" ": "space", "/": "slash", ":": "colon", "=": "equals_sign", "-": "minus", "~": "tilde"}


@pytest.fixture(autouse=True)
def brief_feeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """End each feed as soon as there is nothing new."""
    monkeypatch.setattr("arena.tui.screens.dashboard.StoreFeed", Brief)
    monkeypatch.setattr("arena.tui.start.StoreFeed", Brief)


def dashboard(path: Path) -> StoreDashboard:
    return StoreDashboard(
        Brief(str(path), 1),
        ALL_SCREENS,
        store=str(path),
        at=StartPoint("spring"),
        glyphs="ascii",
        reduce_motion=True,
    )


async def jump(pilot: Pilot[None], text: str) -> None:
    """Open the palette, type a text, and open the first result."""
    await press(pilot, "ctrl+p")
    await pilot.press(*(STEPS.get(letter, letter) for letter in text))
    palette = cast("CommandPalette", pilot.app.screen)
    assert isinstance(palette, CommandPalette)
    while not any(text.lower() in line.lower() for line in screen_lines(pilot.app)[6:]):
        await pilot.pause(0.01)
    await pilot.press("enter")
    while isinstance(pilot.app.screen, CommandPalette):
        await pilot.pause(0.01)
    await settle(pilot)
    await settle(pilot)


def after(app: Dashboard, act: Callable[[Pilot[None]], Awaitable[None]]) -> None:
    piloted(app, act)


def test_it_leads_to_matches_positions_tournaments_screens_and_bots(shown_store: Path) -> None:
    app = dashboard(shown_store)

    def shown() -> Screen[object]:
        return app.screen

    async def act(pilot: Pilot[None]) -> None:
        await jump(pilot, "spring/3:4")
        replay = shown()
        assert isinstance(replay, ReplayScreen)
        assert (replay.text_to_copy(), replay.ply) == ("spring/3:4", 4)
        await jump(pilot, "duel/1")
        assert isinstance(shown(), ReplayScreen)
        assert shown() is not replay
        assert len(app.screen_stack) == 3, "the replay before was closed"
        assert app.tournament == "spring"
        await jump(pilot, "due")
        assert isinstance(shown(), LiveScreen)
        assert app.tournament == "duel"
        await jump(pilot, "spring/table")
        assert isinstance(shown(), MatrixScreen)
        assert app.tournament == "spring"
        await jump(pilot, "duel/matches")
        matches = shown()
        assert isinstance(matches, MatchesScreen)
        assert matches.filter_text == "tournament:duel"
        await jump(pilot, "mcts:play")
        assert isinstance(shown(), BotPageScreen)
        assert "mcts:playouts=20" in "\n".join(screen_lines(app))
        await press(pilot, "escape")
        bots = shown()
        assert isinstance(bots, BotsScreen)
        assert bots.table.current is not None
        assert bots.table.current.name == "mcts"

    after(app, act)


def test_it_says_what_each_is_and_has_commands_too(shown_store: Path) -> None:
    app = dashboard(shown_store)

    async def act(pilot: Pilot[None]) -> None:
        await press(pilot, "ctrl+p")
        await pilot.press(*"spr")
        while "spring" not in "\n".join(screen_lines(app)[5:]):
            await pilot.pause(0.01)
        text = "\n".join(screen_lines(app))
        assert "tournament, round-robin of tic-tac-toe" in text
        assert text.isascii()
        await press(pilot, "escape", "ctrl+p")
        await pilot.press(*"help")
        while "as the key ?" not in "\n".join(screen_lines(app)):
            await pilot.pause(0.01)

    after(app, act)


@pytest.fixture
def may_find(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Return an event for which the search for places waits."""
    event = threading.Event()

    def search_late(query: Query, text: str) -> list[Place]:
        while query.is_wanted() and not event.wait(0.01):
            pass
        return search_places(query, text)

    monkeypatch.setattr("arena.tui.screens.palette_search.search_places", search_late)
    return event


def test_enter_waits_for_what_the_text_finds(shown_store: Path, may_find: threading.Event) -> None:
    app = dashboard(shown_store)

    def is_open() -> bool:
        return isinstance(app.screen, CommandPalette)

    async def act(pilot: Pilot[None]) -> None:
        await press(pilot, "ctrl+p")
        assert "Abort" in "\n".join(screen_lines(app)), "the first of all commands"
        await pilot.press(*"duel", "enter")
        assert is_open(), "nothing is run yet"
        may_find.set()
        while is_open():
            await pilot.pause(0.01)
        await settle(pilot)
        assert app.tournament == "duel"

    after(app, act)


def test_enter_is_forgotten_when_the_text_changes(shown_store: Path, may_find: threading.Event) -> None:
    app = dashboard(shown_store)

    async def act(pilot: Pilot[None]) -> None:
        await press(pilot, "ctrl+p")
        await pilot.press(*"due", "enter", "l")
        may_find.set()
        while "duel" not in "\n".join(screen_lines(app)[6:]):
            await pilot.pause(0.01)
        await settle(pilot)
        assert isinstance(app.screen, CommandPalette)

    after(app, act)


def test_the_palette_of_themes_is_ascii_too(shown_store: Path) -> None:
    app = dashboard(shown_store)

    async def act(pilot: Pilot[None]) -> None:
        await press(pilot, "T")
        text = "\n".join(screen_lines(app))
        assert "a theme" in text
        assert text.isascii()
        await pilot.press(*"contrast", "enter")
        while isinstance(app.screen, CommandPalette):
            await pilot.pause(0.01)
        await settle(pilot)
        assert app.theme == "arena-contrast"

    after(app, act)


def test_a_search_that_is_not_wanted_any_more_ends(
    shown_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = dashboard(shown_store)
    asked, ended = threading.Event(), threading.Event()

    def slow(query: Query, _: str) -> list[object]:
        asked.set()
        while query.is_wanted():
            ended.wait(0.005)
        ended.set()
        return []

    monkeypatch.setattr("arena.tui.screens.palette_search.search_places", slow)

    async def act(pilot: Pilot[None]) -> None:
        await press(pilot, "ctrl+p")
        await pilot.press("a")
        while not asked.is_set():
            await pilot.pause(0.01)
        assert not ended.is_set()
        await pilot.press("escape")
        while not ended.is_set():
            await pilot.pause(0.01)

    after(app, act)


def test_a_store_that_is_gone_leaves_the_commands(shown_store: Path, tmp_path: Path) -> None:
    app = dashboard(shown_store)

    async def act(pilot: Pilot[None]) -> None:
        del pilot
        app.store = str(tmp_path / "no" / "folder.db")
        assert [hit async for hit in PlaceSearch(app.screen).search("spring")] == []

    after(app, act)


@pytest.mark.parametrize("text", ["random", "mcts:playouts=20"])
def test_a_bot_is_opened_at_its_row(shown_store: Path, text: str) -> None:
    app = bot_app(str(shown_store), read_place(str(shown_store), text), glyphs="ascii")

    async def act(pilot: Pilot[None]) -> None:
        await settle(pilot)
        await settle(pilot)
        assert isinstance(app.screen, BotPageScreen)
        await press(pilot, "escape")
        screen = app.screen
        assert isinstance(screen, BotsScreen)
        assert screen.table.current is not None
        assert screen.table.current.name == text.partition(":")[0]
        assert app.tournament == "duel", "the newest one"

    after(app, act)


def test_a_match_that_is_not_played_yet_is_waited_for(shown_store: Path) -> None:
    with Store.open(shown_store, read_only=True) as store:
        record = store.tournaments.find("spring")
        assert record is not None
        app = watch_app(str(shown_store), Address(record, number=3), glyphs="ascii")
    assert app.running == 3


def test_a_dashboard_is_opened_where_the_address_says(shown_store: Path) -> None:
    with Store.open(shown_store, read_only=True) as store:
        position, table = (find_address(store, text) for text in ("spring/3:2", "spring/table"))
    assert position.match is not None
    app = watch_app(str(shown_store), position, glyphs="ascii")
    assert (app.tournament, app.match, app.ply, app.running) == ("spring", position.match.id, 2, 0)
    app = watch_app(str(shown_store), table, glyphs="ascii")
    assert (app.tournament, app.match, app.ply, app.running) == ("spring", 0, None, 0)


def test_y_copies_the_address_of_what_is_selected(shown_store: Path) -> None:
    app = dashboard(shown_store)

    async def act(pilot: Pilot[None]) -> None:
        for key, wanted in (("1", "spring/24"), ("3", "duel/2"), ("7", "duel")):
            await press(pilot, key)
            if key == "7":
                await press(pilot, "home")
            await press(pilot, "y")
            assert app.clipboard == wanted, key
            assert f"copied: {wanted}" in "\n".join(screen_lines(app))
        await press(pilot, "2", "home", "y")
        assert read_place(str(shown_store), app.clipboard).kind == "bot"

    after(app, act)

"""An empty store: the first tournament, and a match that a person starts from any screen."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from arena.errors import ConfigError
from arena.home import has_store
from arena.live.forms import PlayForm
from arena.tui.screens.dashboard import Dashboard
from arena.tui.screens.live_screen import LiveScreen
from arena.tui.screens.new_events import NewPlayScreen, NewTournamentScreen
from arena.tui.screens.play_screen import PlayScreen
from arena.tui.shell.confirm import ConfirmScreen
from arena.tui.start import ALL_SCREENS, empty_app
from arena.tui.widgets.form import FormField, Push
from arena.watching.feed import FeedUpdate
from arena.watching.first_feed import FIRST, First, FirstFeed
from arena_db.store import Store
from dashboard import screen_lines
from feeds import RecordedFeed
from plays import LocalLink, config
from stores import add_cup
from watching import Brief, press, seen, shown, watch

if TYPE_CHECKING:
    from pathlib import Path

    from textual.pilot import Pilot


def empty(db: Path, *batches: FeedUpdate, is_read_only: bool = False) -> Dashboard:
    """Return the dashboard of a store that does not exist yet."""
    feed = RecordedFeed(batches)
    return Dashboard(
        feed, ALL_SCREENS, store=str(db), is_read_only=is_read_only, glyphs="ascii", reduce_motion=True
    )


def test_an_empty_dashboard_says_how_to_begin_and_has_all_screens(tmp_path: Path) -> None:
    db = tmp_path / "none.db"

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        for fact in ("WAITING", "No tournament has been played yet", "7 then n", "The store is"):
            assert fact in seen(app), fact
        await press(pilot, "P")
        assert "no tournament is watched" in seen(app)
        for key, fact in (
            ("2", "no results yet"),
            ("3", "nothing has been played yet"),
            ("4", "no matches yet"),
            ("5", "bots 1"),
            ("6", "no run yet"),
            ("7", "no tournament yet; n begins one"),
            ("8", "no match fits"),
        ):
            await press(pilot, key)
            assert fact in seen(app), key
            assert "cannot be read" not in seen(app)
        await press(pilot, "7", "n")
        assert isinstance(app.screen, NewTournamentScreen)

    shown(empty(db), act)
    assert not db.exists(), "looking makes no store"


def test_who_only_looks_is_not_told_of_keys_that_do_nothing(tmp_path: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        assert "7 then n" not in seen(app)
        assert "arena tournament" in seen(app)
        await press(pilot, "p")
        assert isinstance(app.screen, LiveScreen)

    shown(empty(tmp_path / "none.db", is_read_only=True), act)


def test_the_first_tournament_is_shown_wherever_one_is(
    shown_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arena.tui.screens.dashboard.StoreFeed", Brief)

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        assert app.tournament == "spring"
        assert "spring has begun" in seen(app)
        assert "No tournament" not in seen(app)
        assert "STANDINGS spring" in seen(app)
        await press(pilot, "2")
        assert "standings spring" in seen(app)

    assert tmp_path.is_dir()
    shown(empty(shown_store, FeedUpdate(facts={FIRST: First(1, "spring")}, is_last=True)), act)


def test_the_feed_waits_for_the_first_tournament(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    feed = FirstFeed(str(path), is_read_only=True)
    batch = feed.poll()
    assert batch is not None
    assert (batch.health and batch.health.store) == "a.db"
    assert feed.poll() is None
    assert not path.exists()
    with Store.open(path) as store:
        assert feed.poll() is None
        add_cup(store, "a", "b", num=1, name="cup")
        found = feed.poll()
    assert found is not None
    assert found.facts == {FIRST: First(1, "cup")}
    assert found.is_last
    assert feed.interval > 0
    feed.close()


def test_the_app_follows_that_feed(tmp_path: Path) -> None:
    app = empty_app(str(tmp_path / "a.db"), is_read_only=True, glyphs="ascii")

    async def run() -> str:
        async with app.run_test(size=(80, 24)) as pilot:
            # Its worker never ends, so the test must not wait for it.
            await pilot.pause()
            app.workers.cancel_all()
            return "\n".join(screen_lines(app))

    assert "No tournament has been played yet" in asyncio.run(run())


def test_a_folder_that_is_not_there_is_no_place_for_a_store(tmp_path: Path) -> None:
    assert not has_store(str(tmp_path / "a.db"))
    with pytest.raises(ConfigError, match="there is no folder"):
        has_store(str(tmp_path / "typo" / "a.db"))


def test_the_form_of_a_play_equals_a_command_line() -> None:
    form = PlayForm(
        bot=" mcts:playouts=20 ", game="gomoku", side="second", st="2", nodes="50", hint="solver", rated="on"
    )
    given = ["--game=gomoku", "--st=2", "--nodes=50", "--hint=solver", "--second", "--rated"]
    assert form.words() == ["play", *given, "--", "mcts:playouts=20"]
    values = form.values()
    assert (values["st"], values["nodes"], values["bot"]) == (2.0, 50, "mcts:playouts=20")
    assert PlayForm(bot="x").words() == ["play", "--", "x"]
    for wrong in (PlayForm(bot="x", st="soon"), PlayForm(bot="x", nodes="1.5")):
        with pytest.raises(ConfigError, match=r'"(soon|1.5)" is no'):
            wrong.values()
    with pytest.raises(ConfigError, match="name the bot"):
        PlayForm().words()


def test_p_plays_the_bot_at_hand_and_comes_back(
    shown_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    links: list[LocalLink] = []

    def link(_: str | None, words: list[str]) -> LocalLink:
        assert words[:4] == ["play", "--headless", "--game", "tic-tac-toe"]
        links.append(LocalLink(tmp_path / "play.db", config()))
        return links[-1]

    monkeypatch.setattr("arena.tui.screens.new_events.Link", link)

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "2", "down", "p")
        screen = app.screen
        assert isinstance(screen, NewPlayScreen)
        assert screen.query_one("#field-bot", FormField).value
        assert screen.line().startswith(f"arena play --db {shown_store} --game=tic-tac-toe -- ")
        assert "you are first, " in seen(app)
        screen.query_one("#field-bot", FormField).value = "no-such-bot"
        await press(pilot, "enter")
        assert isinstance(app.screen, NewPlayScreen)
        assert '! no bot "no-such-bot"' in seen(app)
        screen.query_one("#field-bot", FormField).value = "random"
        screen.query_one("#push-play", Push).focus()
        await pilot.press("enter")
        await asyncio.gather(*[worker.wait() for worker in app.workers if worker.name == "prepare"])
        await pilot.pause()
        play = app.screen
        assert isinstance(play, PlayScreen)
        while play.seen.match is None:
            await pilot.pause(0.01)
        await pilot.press("escape", "p")
        assert app.screen is play, "p means nothing within a play"
        await pilot.press("escape")
        assert isinstance(app.screen, ConfirmScreen)
        await pilot.press("y")
        await pilot.pause()
        assert isinstance(app.screen, NewPlayScreen)
        await press(pilot, "escape")
        assert app.screen.name == "standings"

    try:
        shown(watch(shown_store), act, (100, 24))
    finally:
        for opened in links:
            opened.close()


def test_a_play_that_cannot_begin_goes_back_and_says_why(
    shown_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arena.coordinator.client.start", _no_process)

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "p")
        app.screen.query_one("#field-bot", FormField).value = "random"
        app.screen.query_one("#push-play", Push).focus()
        await press(pilot, "enter")
        await press(pilot)
        assert isinstance(app.screen, NewPlayScreen)
        assert "no process can be started" in seen(app)

    shown(watch(shown_store), act)


def _no_process(*_: object, **__: object) -> None:
    raise ConfigError("no process can be started")

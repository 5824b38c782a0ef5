"""The dashboard over a slow or removed store: nothing stale is shown, and quitting waits for no query."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING

import pytest

from arena.tui.screens.dashboard import Dashboard, StartPoint
from arena.tui.start import ALL_SCREENS
from arena.tui.widgets.match_list import MatchList
from arena.watching import store_feed
from arena.watching.store_feed import StoreFeed
from arena_db.judgements import JudgedMatch, JudgedPly
from arena_db.records import MatchFilter
from arena_db.store import Store
from dashboard import screen_lines
from stores import add_cup

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from textual.pilot import Pilot

_PATIENCE_S = 30.0


@pytest.fixture
def graded(tmp_path: Path) -> Path:
    """Return a store with 12 graded matches; a filter on mistakes calls one of our SQL functions."""
    with Store.open(tmp_path / "arena.db") as store:
        cup = add_cup(store, num=12, name="cup")
        store.matches.save([cup.match(number) for number in range(1, 13)])
        for match in store.matches.newest(MatchFilter(rated_only=False)):
            plies = tuple(JudgedPly(value=0.0, loss=0.0) for _ in match.actions)
            store.analyses.add(JudgedMatch(match=match.id, name="solver", plies=plies, made_at=1.0))
        store.tournaments.set_state(1, "finished")
    return tmp_path / "arena.db"


class Slow:
    """A slow SQL function: once switched on, each call waits until it is released."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_on = False
        self.num_calls = 0
        self.begun, self.go_on = threading.Event(), threading.Event()
        monkeypatch.setattr("arena_db.backend.sqlite.engine.num_mistakes", self)

    def __call__(self, content: object, num_opening: object) -> int:
        del content, num_opening
        # The list itself calls this function for the mistakes of the rows that it shows.
        if not self.is_on:
            return 0
        self.num_calls += 1
        self.begun.set()
        self.go_on.wait(_PATIENCE_S)
        return 0


def dashboard(path: Path) -> Dashboard:
    """Return the dashboard of a store, whose feed keeps polling."""
    feed = StoreFeed(str(path), 1, rates_past=True)
    return Dashboard(
        feed, ALL_SCREENS, store=str(path), at=StartPoint("cup"), glyphs="ascii", reduce_motion=True
    )


def move(source: Path, target: Path) -> None:
    source.rename(target)


async def until(pilot: Pilot[None], is_met: Callable[[str], bool]) -> str:
    """Wait until the screen meets a condition; return its text."""
    end = time.monotonic() + _PATIENCE_S
    while not is_met(text := "\n".join(screen_lines(pilot.app))):
        assert time.monotonic() < end, text
        await pilot.pause()
        await asyncio.sleep(0.01)
    return text


async def ask(pilot: Pilot[None], condition: str) -> None:
    """Replace the current filter by typing another one."""
    await pilot.press("slash")
    pilot.app.screen.query_one("FilterLine").value = condition  # pyright: ignore[reportAttributeAccessIssue] # an input
    await pilot.press("enter")


def run(
    app: Dashboard, act: Callable[[Pilot[None]], Awaitable[None]], size: tuple[int, int] = (80, 24)
) -> None:
    """Run an app whose feed never ends, and call `act` with its pilot."""

    async def go() -> None:
        async with app.run_test(size=size) as pilot:
            await act(pilot)

    asyncio.run(go())


async def begun(slow: Slow) -> None:
    """Wait until a query is blocked in the slow function."""
    assert await asyncio.to_thread(slow.begun.wait, _PATIENCE_S)


def test_a_new_filter_ends_the_old_one_and_q_ends_both(graded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow, app = Slow(monkeypatch), dashboard(graded)
    shown: list[str] = []

    async def act(pilot: Pilot[None]) -> None:
        await pilot.press("3")
        await until(pilot, lambda text: "1/12" in text)
        slow.is_on = True
        await ask(pilot, "mistakes>=0")
        await begun(slow)
        text = await until(pilot, lambda text: "searching matches ..." in text)
        assert "cup/12" in text, "the rows of before stay"
        assert app.screen.query_one(MatchList).is_stale
        assert "no matches" not in text
        await ask(pilot, "result:1/2")
        slow.go_on.set()
        await until(pilot, lambda text: "no match matches" in text and "0/0" in text)
        # For the match at which it is blocked, the condition calls the function twice.
        assert slow.num_calls <= 2, "the old search was interrupted, not finished"
        await until(pilot, lambda text: "searching" not in text)

        slow.go_on.clear()
        slow.begun.clear()
        await ask(pilot, "mistakes>=0 bot:a")
        await begun(slow)
        running = app.queries.num_running
        assert running
        await pilot.press("q")
        await until(pilot, lambda _: app._exit)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] # it is leaving
        slow.go_on.set()
        shown.extend(screen_lines(app))

    before = set(threading.enumerate())
    run(app, act)
    assert slow.num_calls < 9, "eight more calls would be the whole search"
    assert app.queries.num_running == 0
    assert set(threading.enumerate()) <= before, "no thread is left"
    assert not any("cup/11" in line for line in shown), "what was interrupted was never shown"


def test_a_store_that_is_gone_keeps_what_was_shown_and_comes_back(
    graded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_feed, "_SLOW_S", 0.02)
    gone = "store arena.db is gone (moved or deleted); looking again"
    away = graded.with_suffix(".away")

    async def act(pilot: Pilot[None]) -> None:
        await pilot.press("3")
        await until(pilot, lambda text: "1/12" in text)
        move(graded, away)
        text = await until(pilot, lambda text: gone in text)
        assert "cup/12" in text
        await pilot.press("r")
        await ask(pilot, "ply<9")
        await until(pilot, lambda _: bool(pilot.app.screen.query_one(MatchList).trouble))
        for key, fact in (("3", "cup/12"), ("7", "looking again"), ("2", gone), ("4", gone), ("5", gone)):
            await pilot.press(key)
            text = await until(pilot, lambda text, fact=fact: gone in text and fact in text)
            for claim in ("no matches", "no tournament yet", "no results yet"):
                assert claim not in text, key
        move(away, graded)
        await until(pilot, lambda text: gone not in text)
        await pilot.press("3")
        await until(pilot, lambda text: "1/12   filter ply<9" in text and "gone" not in text)
        await pilot.press("7")
        await until(pilot, lambda text: "finished" in text and "gone" not in text)

    run(dashboard(graded), act)


def test_what_takes_long_is_said_in_the_header(graded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow, app = Slow(monkeypatch), dashboard(graded)

    async def act(pilot: Pilot[None]) -> None:
        await pilot.press("3")
        await until(pilot, lambda text: "1/12" in text)
        assert "reading" not in screen_lines(app)[0]
        slow.is_on = True
        await ask(pilot, "mistakes>=0")
        await begun(slow)
        await until(pilot, lambda text: "searching matches ..." in text.splitlines()[0])
        slow.go_on.set()
        await until(pilot, lambda text: "searching" not in text.splitlines()[0])
        assert not app.screen.query_one(MatchList).is_stale

    run(app, act, (120, 24))

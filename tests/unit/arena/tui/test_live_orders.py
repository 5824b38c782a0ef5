"""P and X on the Live screen: the commands that they send to the tournament, and the answers shown."""

from __future__ import annotations

import re
import shutil
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from arena.tui.screens.dashboard import Dashboard, StartPoint
from arena.tui.screens.live_screen import LiveScreen
from arena.tui.shell.confirm import ConfirmScreen
from arena.watching.feed import FeedUpdate
from arena_db.owner import current_owner
from arena_db.store import Store
from dashboard import piloted, settle
from feeds import RecordedFeed

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from textual.pilot import Pilot

DEADLINE_S = 60.0


@pytest.fixture
def store(shown_store: Path, tmp_path: Path) -> Path:
    path = tmp_path / "arena.db"
    shutil.copy(shown_store, path)
    return path


@contextmanager
def coordinator(path: Path, *, answers: bool = True) -> Generator[list[str]]:
    """Hold the tournament as its coordinator does, and answer commands; yield the list of their kinds."""
    kinds: list[str] = []
    ended = threading.Event()
    with Store.open(path) as store:
        assert store.claim(1, current_owner())

        def answer() -> None:
            while answers and not ended.wait(0.02):
                for command in store.commands.take(1):
                    kinds.append(command.kind)
                    store.commands.answer(command.id, f"yes, {command.kind}")

        thread = threading.Thread(target=answer)
        thread.start()
        yield kinds
        ended.set()
        thread.join(DEADLINE_S)
        kinds += [command.kind for command in store.commands.take(1)]


def live(path: Path, *, is_read_only: bool = False) -> Dashboard:
    feed = RecordedFeed([FeedUpdate()])
    return Dashboard(
        feed,
        [LiveScreen],
        store=str(path),
        at=StartPoint("spring"),
        glyphs="ascii",
        is_read_only=is_read_only,
    )


def notes(app: Dashboard) -> list[str]:
    """Return the notifications of an app."""
    return [note.message for note in app._notifications]  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] # Textual has no other way


def test_a_pause_is_asked_and_answered(store: Path) -> None:
    async def act(pilot: Pilot[None]) -> None:
        await pilot.press("P")
        await settle(pilot)
        assert notes(app) == ["asked to pause", "yes, pause"]

    app = live(store)
    with coordinator(store) as kinds:
        piloted(app, act)
    assert kinds == ["pause"]


def test_a_stop_is_meant(store: Path) -> None:
    async def act(pilot: Pilot[None]) -> None:
        await pilot.press("X")
        assert isinstance(app.screen, ConfirmScreen)
        assert "Stop spring?" in app.screen.text.plain
        await pilot.press("n")
        await settle(pilot)
        assert notes(app) == []
        await pilot.press("X", "y")
        await settle(pilot)
        assert notes(app) == ["asked to stop", "yes, stop"]

    app = live(store)
    with coordinator(store) as kinds:
        piloted(app, act)
    assert kinds == ["stop"]


def test_nobody_answers(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def act(pilot: Pilot[None]) -> None:
        await pilot.press("P")
        await settle(pilot)
        asked, found = notes(app)
        assert asked == "asked to pause"
        assert re.match(r"no answer yet from pid \d+ on .*, heard \d+ s ago, which looks for commands", found)

    monkeypatch.setattr("arena.coordinator.client.ANSWER_S", 0.0)
    app = live(store)
    with coordinator(store, answers=False):
        piloted(app, act)


def test_where_nobody_runs_it_nothing_is_asked(store: Path) -> None:
    async def act(pilot: Pilot[None]) -> None:
        await pilot.press("P")
        await settle(pilot)
        assert notes(app) == ["spring is not being run; arena resume spring continues it"]

    app = live(store)
    piloted(app, act)
    with Store.open(store) as opened:
        assert opened.commands.take(1) == []


def test_who_may_only_look_asks_nothing(store: Path) -> None:
    async def act(pilot: Pilot[None]) -> None:
        await pilot.press("P", "X")
        await settle(pilot)
        assert set(notes(app)) == {"this dashboard was started with --read-only"}

    app = live(store, is_read_only=True)
    with coordinator(store) as kinds:
        piloted(app, act)
    assert kinds == []

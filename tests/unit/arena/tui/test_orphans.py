"""Matches of a person that no process referees are listed, resumed with R, and aborted with X."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from arena.coordinator.client import Link
from arena.live.tournament_views import TournamentRow
from arena.tui.screens.tournaments_screen import TournamentsScreen
from arena.tui.shell.confirm import ConfirmScreen
from arena_db.store import Store
from stores import add_cup
from watching import press, seen, shown, watch

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from textual.message_pump import MessagePump
    from textual.pilot import Pilot

    from arena.tui.screens.dashboard import Dashboard


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a store with a match of a person that no process referees, and a finished one."""
    file = tmp_path / "arena.db"
    with Store.open(file) as store:
        over = add_cup(store, "human", "random", name="over", num=1, type="play")
        store.tournaments.set_state(over.record.id, "finished")
        add_cup(store, "human", "random", name="left", num=1, type="play")
    return file


def test_an_orphan_is_a_play_that_nobody_runs() -> None:
    row = TournamentRow(
        id=1, name="a", type="play", game="", tc="", state="left", planned=1, done=0, created_t=0.0
    )
    assert row.is_orphan
    for changes in ({"type": "match"}, {"state": "running"}, {"state": "finished"}, {"state": "silent"}):
        values: dict[str, Any] = {name: getattr(row, name) for name in row.__struct_fields__} | changes
        assert not TournamentRow(**values).is_orphan


def test_it_is_listed_ended_and_gone_on_with(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[tuple[str, ...]] = []
    resumed: list[list[str]] = []

    class Noted:
        status = 0

        def __init__(self, words: list[str]) -> None:
            ended.append(tuple(words))

        def follow(self, _: MessagePump) -> None:
            """End at once."""

    class Linked(Link):
        def __init__(self, store: str | None, words: Sequence[str]) -> None:
            super().__init__(store, words)
            assert store == str(path)
            resumed.append(list(words))

    def board(_: Link) -> ConfirmScreen:
        return ConfirmScreen("the board")

    monkeypatch.setattr("arena.tui.screens.tournaments_screen.ChildProcess", Noted)
    monkeypatch.setattr("arena.tui.screens.tournaments_screen.Link", Linked)
    monkeypatch.setattr("arena.tui.screens.tournaments_screen.PlayScreen", board)

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "7", "home")
        screen = app.screen
        assert isinstance(screen, TournamentsScreen)
        assert screen.table.current is not None
        assert screen.table.current.name == "left"
        assert "no coordinator" in seen(app)
        await press(pilot, "X")
        assert isinstance(app.screen, ConfirmScreen)
        assert "End left?" in seen(app)
        await press(pilot, "n")
        assert ended == []
        await press(pilot, "X", "y")
        assert ended == [("stop", "--db", str(path), "--", "left")]
        await press(pilot, "R")
        assert resumed == [["play", "--headless", "--attach", "left"]]
        await press(pilot, "escape", "down", "X")
        assert len(ended) == 1, "one that is over is not ended again"

    shown(watch(path), act)


def test_who_only_looks_ends_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena.tui.screens.tournaments_screen.ChildProcess", None)

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "7", "home", "X")
        assert not isinstance(app.screen, ConfirmScreen)

    shown(watch(path, is_read_only=True), act)

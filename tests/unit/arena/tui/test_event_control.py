"""Tournaments from screen 7: archive, remove, join, leave, take over; destructive actions ask first."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from arena.own_python import own_python
from arena.tui.screens.tournaments_screen import TournamentsScreen
from arena.tui.shell.confirm import ConfirmScreen
from arena.tui.shell.prompt import PromptScreen
from arena_db.owner import current_owner
from arena_db.store import Store
from dashboard import screen_lines, settle
from stores import tamper
from tournaments import Sitting, config
from watching import press, seen, shown, watch

if TYPE_CHECKING:
    from pathlib import Path

    from textual.pilot import Pilot

    from arena.tui.screens.dashboard import Dashboard


@pytest.fixture
def ladder(tmp_path: Path) -> Path:
    """Return the store of a ladder that has reached its target."""
    path = tmp_path / "arena.db"
    settings = config("random", "minimax:depth=1", type="ladder", name="spring", stop_when="error=300")
    sitting = Sitting(path, settings)
    sitting.play()
    sitting.store.close()
    return path


def test_a_bot_leaves_a_ladder(ladder: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "7", "L")
        assert isinstance(app.screen, PromptScreen)
        await press(pilot, *"random", "enter", *"weak", "enter")
        await settle(pilot)
        assert "random left spring" in seen(app)
        await press(pilot, "L", *"nobody", "enter", "enter")
        await settle(pilot)
        assert "! " in seen(app)
        assert "nobody" in seen(app)

    shown(watch(ladder), act, (120, 40))
    with Store.open(ladder) as store:
        assert [entrant.state for entrant in store.tournaments.entrants(1)] == ["left", "playing"]
        assert [(change.kind, change.reason) for change in store.changes.of(1)] == [("leave", "weak")]


def test_a_bot_joins_a_ladder_by_its_command(ladder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena.tui.shell.child.PROGRAM", tuple(own_python("-m", "arena")))

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "7", "J", *"minimax:depth=2", "enter")
        assert "arena ladder join" in seen(app)
        await press(pilot, "enter")
        await settle(pilot)
        assert "minimax:depth=2 joined spring" in seen(app)

    shown(watch(ladder), act, (120, 40))
    with Store.open(ladder) as store:
        assert [entrant.label for entrant in store.tournaments.entrants(1)][-1] == "minimax:depth=2"


@pytest.fixture
def field(tmp_path: Path) -> Path:
    """Return the store of a finished round robin of three bots."""
    path = tmp_path / "arena.db"
    sitting = Sitting(path, config("random", "minimax:depth=1", "minimax:depth=2", name="spring"))
    sitting.play()
    sitting.store.close()
    return path


def test_a_bot_is_withdrawn_from_any_event_and_another_disqualified(field: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "7", "L", *"rand")
        assert "what it played counts" in seen(app)
        assert "arena entrants withdraw" in seen(app)
        await press(pilot, "right", "enter")
        assert "is needed" not in seen(app), "the reason is asked for next"
        await press(pilot, "enter")
        assert isinstance(app.screen, PromptScreen), "it has to have a reason"
        assert "reason is needed" in seen(app)
        await press(pilot, *"weak", "enter")
        await settle(pilot)
        assert "random left spring; what it played counts" in seen(app)
        await press(pilot, "Q")
        assert "arena entrants disqualify" in seen(app)
        assert "Disqualify a bot of spring: it plays no more" in seen(app)
        await press(pilot, *"minimax:depth=1", "enter", *"cheats", "enter")
        await settle(pilot)
        assert "minimax:depth=1 is disqualified from spring; " in seen(app)
        assert "matches became void" in seen(app)
        await press(pilot, "Q", *"nobody", "enter", *"x", "enter")
        await settle(pilot)
        assert "! " in seen(app)
        assert "nobody" in seen(app)

    shown(watch(field), act, (120, 40))
    with Store.open(field) as store:
        assert [entrant.state for entrant in store.tournaments.entrants(1)] == ["left", "out", "playing"]
        kinds = [(change.kind, change.reason) for change in store.changes.of(1)]
        assert kinds[0] == ("leave", "weak")
        assert ("disqualify", "cheats") in kinds
        assert all(
            bool(match.void_reason) == ("minimax:depth=1" in (match.first_label, match.second_label))
            for match in store.matches.of_tournament(1)
        )


def test_a_bot_joins_a_round_robin_with_a_reason(field: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena.tui.shell.child.PROGRAM", tuple(own_python("-m", "arena")))

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "7", "J", *"minimax:depth=3", "enter", *"late", "enter")
        await settle(pilot)
        assert "minimax:depth=3 joined spring" in seen(app)

    shown(watch(field), act, (120, 40))
    with Store.open(field) as store:
        assert [change.kind for change in store.changes.of(1)] == ["join"]


def test_the_name_of_a_bot_that_joins_is_completed(ladder: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "7", "J", *"minim")
        assert "  minimax" in seen(app)
        await press(pilot, "right")
        assert "arena ladder join" in seen(app)
        assert isinstance(app.screen, PromptScreen)
        assert app.screen.answers["bot"] == "minimax"

    shown(watch(ladder), act, (120, 40))


def test_nobody_joins_a_match(ladder: Path) -> None:
    tamper(ladder, "UPDATE tournaments SET type = 'match'")

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "7", "J")
        assert not isinstance(app.screen, PromptScreen)
        assert "spring is a match, which accepts no more bots" in seen(app)

    shown(watch(ladder), act)


def test_the_footer_names_the_keys_that_mean_something(ladder: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "7")
        hints = screen_lines(app)[-1]
        for key in ("J Join", "L Leave", "Q Disqualify", "A Archive", "D Remove"):
            assert f" {key} " in hints
        for key in ("P Pause", "X Stop", "K Abort", "R Resume"):
            assert f" {key} " not in hints
        tamper(ladder, "UPDATE tournaments SET state = 'stopped'")
        await press(pilot, "r")
        assert " R Resume " in screen_lines(app)[-1]
        app.is_read_only = True
        await press(pilot, "r")
        assert {"J", "L", "Q", "A", "D", "R"}.isdisjoint(screen_lines(app)[-1].split())

    shown(watch(ladder), act, (120, 40))


def test_archiving_hides_and_a_shows_it(ladder: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "7", "A")
        await settle(pilot)
        assert isinstance(app.screen, TournamentsScreen)
        assert app.screen.table.num_rows == 0
        await press(pilot, "a")
        await settle(pilot)
        assert "finished, archived" in seen(app)
        await press(pilot, "A")
        await settle(pilot)
        assert "archived" not in seen(app).partition("state")[2].partition("bots:")[0]

    shown(watch(ladder), act, (120, 40))
    with Store.open(ladder) as store:
        assert [change.kind for change in store.changes.of(1)] == ["archive", "unarchive"]


def test_removing_asks_first_and_says_where_it_is(ladder: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "7", "D")
        assert isinstance(app.screen, ConfirmScreen)
        assert "spring.removed.db" in "".join(str(app.screen.text).split())
        await press(pilot, "n")
        assert not ladder.with_name("spring.removed.db").exists()
        await press(pilot, "D", "y")
        await settle(pilot)
        # The command that undoes it follows the path, which may be longer than the line.
        assert "spring is in /" in seen(app)

    shown(watch(ladder), act, (120, 40))
    assert ladder.with_name("spring.removed.db").exists()
    with Store.open(ladder) as store:
        assert store.tournaments.find("spring") is None


@pytest.fixture
def held(tmp_path: Path) -> Path:
    """Return the store of a tournament whose process is alive but has written nothing for over a minute."""
    path = tmp_path / "arena.db"
    sitting = Sitting(path, config("random", "minimax:depth=1", name="spring"))
    assert sitting.store.claim(1, current_owner())
    sitting.store.close()
    tamper(path, "UPDATE leases SET beat_at = beat_at - 720")
    return path


def test_a_take_over_says_from_whom(held: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        for keys in (("7", "R"), ("escape", "1", "R")):
            await press(pilot, *keys)
            await settle(pilot)
            assert isinstance(app.screen, ConfirmScreen)
            text = str(app.screen.text)
            assert f"pid {os.getpid()} on " in text
            assert "silent for 12 min" in text
            assert "resume" in text
            assert "--take-over" in text

    shown(watch(held), act, (120, 40))


def test_abort_asks_first(held: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "7", "K")
        # A silent process would not answer the command, so the dashboard does not offer it.
        assert not isinstance(app.screen, ConfirmScreen)
        assert "spring is silent" in seen(app)

    shown(watch(held), act, (120, 40))

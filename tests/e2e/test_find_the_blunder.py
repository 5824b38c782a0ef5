"""The steps of the tutorial: a tournament, a lost match, its blunder, playing on, and the export."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from arena.home import open_store
from arena.results.addresses import find_address
from arena.tui.screens.export_screen import ExportScreen
from arena.tui.screens.matches_screen import MatchesScreen
from arena.tui.screens.new_events import NewTournamentScreen
from arena.tui.screens.play_screen import PlayScreen
from arena.tui.screens.replay_screen import ReplayScreen
from arena.tui.screens.tournaments_screen import TournamentsScreen
from arena.tui.start import watch_app
from arena.tui.widgets.form import Choice, FormField, Push
from arena.tui.widgets.match_list import MatchList
from arena_db.records import MatchFilter
from arena_db.store import Store
from command_line import FAST, CommandLine
from dashboard import screen_lines
from plays import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from textual.pilot import Pilot

    from arena.tui.screens.dashboard import Dashboard
    from arena_db.records import StoredMatch

DEADLINE_S = 120.0


async def until(pilot: Pilot[None], app: Dashboard, condition: Callable[[], object]) -> None:
    """Let the app run until a condition is true."""
    end = asyncio.get_running_loop().time() + DEADLINE_S
    while not condition():
        assert asyncio.get_running_loop().time() < end, "\n".join(screen_lines(app))
        await pilot.pause(0.01)
    await pilot.pause()


def shown(app: Dashboard) -> str:
    """Return the text on the screen."""
    return "\n".join(screen_lines(app))


@pytest.fixture
def arena(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """Return a command line whose store has a small tournament to watch."""
    monkeypatch.setenv("ARENA_HOME", str(tmp_path / "home"))
    line = CommandLine(tmp_path)
    line("tournament", "random", "minimax:depth=1", *FAST, "--rounds", 1, "--srand", 7, "--name", "warm-up")
    return line


async def hold(pilot: Pilot[None], app: Dashboard) -> None:
    """Start the tutorial's tournament by the form, and wait for its end."""
    await pilot.press("7")
    await until(pilot, app, lambda: isinstance(app.screen, TournamentsScreen))
    await pilot.press("n")
    # A screen may be shown before its fields exist.
    await until(pilot, app, lambda: "[ Start ]" in shown(app))
    screen = app.screen
    assert isinstance(screen, NewTournamentScreen)
    screen.query_one("#field-bots", FormField).value = "random minimax:depth=9"
    screen.query_one("#field-game", FormField).value = "tic-tac-toe"
    screen.query_one("#field-name", FormField).value = "lesson"
    screen.query_one(
        "#field-more", FormField
    ).value = "--require-tier T0 --executor inline --rounds 3 --srand 7"
    screen.query_one("#field-isolation", Choice).value = "none"
    screen.query_one("#push-start", Push).focus()
    await pilot.press("enter")
    await until(pilot, app, lambda: app.tournament == "lesson" and "ENDED" in shown(app))


async def find(pilot: Pilot[None], app: Dashboard, lost: StoredMatch) -> None:
    """Go to the blunder of a lost and graded match."""
    await pilot.press("3")
    await until(pilot, app, lambda: isinstance(app.screen, MatchesScreen) and app.screen.query(MatchList))
    await pilot.press("slash", *"bot:minimax:depth=9 result:0-1", "enter")
    await until(pilot, app, lambda: "bot:minimax" in shown(app))
    app.push_screen(ReplayScreen(lost.id))
    await until(pilot, app, lambda: isinstance(app.screen, ReplayScreen) and "ply" in shown(app))
    await pilot.press("home", "b")
    await until(pilot, app, lambda: "gives a" in shown(app))
    await until(pilot, app, lambda: "* solver" in shown(app))


async def play_on(pilot: Pilot[None], app: Dashboard, lost: StoredMatch) -> None:
    """Play on from the position before the blunder, with a hint and an undo, and return."""
    await pilot.press("left", "p")
    await until(pilot, app, lambda: isinstance(app.screen, PlayScreen) and app.screen.seen.can_move)
    screen = app.screen
    assert isinstance(screen, PlayScreen)
    begun = screen.seen.match
    assert begun is not None
    assert begun.actions == lost.actions[: begun.ply], "from the position before the blunder"
    assert begun.seats[1 - screen.seen.player].name == "minimax:depth=9"
    await pilot.press("H")
    await until(pilot, app, lambda: screen.seen.hinted is not None)
    await pilot.press("enter")
    await until(pilot, app, lambda: screen.seen.match is not None and screen.seen.match.ply > begun.ply + 1)
    await pilot.press("u")
    await until(pilot, app, lambda: screen.seen.match is not None and screen.seen.match.number == 2)
    await pilot.press("escape", "escape", "y")
    await until(pilot, app, lambda: isinstance(app.screen, ReplayScreen))


async def export(pilot: Pilot[None], app: Dashboard, out: Path) -> None:
    """Write the matches into a file."""
    await pilot.press("8")
    await until(pilot, app, lambda: "[ Export ]" in shown(app))
    screen = app.screen
    assert isinstance(screen, ExportScreen)
    screen.query_one("#field-format", Choice).value = "pgn"
    screen.query_one("#field-out", FormField).value = str(out)
    screen.query_one("#push-export", Push).focus()
    await pilot.press("enter")
    await until(pilot, app, out.exists)


def test_the_way_of_the_lesson(arena: CommandLine) -> None:
    with Store.open(arena.db) as store:
        address = find_address(store, "warm-up")
    app = watch_app(str(arena.db), address, glyphs="ascii", reduce_motion=True)
    out = arena.folder / "lesson.pgn"

    async def run() -> None:
        async with app.run_test(size=(120, 40), notifications=True) as pilot:
            await until(pilot, app, lambda: "ENDED" in shown(app))
            await hold(pilot, app)
            with open_store(str(arena.db), read_only=True) as store:
                found = store.matches.newest(MatchFilter(tournament="lesson", rated_only=False))
            lost = next(m for m in found if m.outcome == "second" and m.first_label == "random")
            arena("show", lost.id, "--grade", "--db", arena.db)
            await find(pilot, app, lost)
            await play_on(pilot, app, lost)
            await export(pilot, app, out)

    asyncio.run(run())
    assert out.read_text().count('[Event "lesson"]') == 6
    with open_store(str(arena.db), read_only=True) as store:
        where = MatchFilter(tournament="play-3", rated_only=False)
        played = wait_for(lambda: found if len(found := store.matches.newest(where)) >= 2 else None)
    assert {(match.termination, match.rated) for match in played} == {("aborted", False)}

"""Screens 5 and 6: bots and training runs, and all their keys."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from arena.training.stopping import RunOrders
from arena.tui.screens.bots_screen import BotsScreen
from arena.tui.screens.matches_screen import MatchesScreen
from arena.tui.screens.page_screens import BotPageScreen
from arena.tui.screens.train_screen import TrainScreen
from arena.tui.widgets.output_panel import OutputPanel
from dashboard import screen_lines
from watching import press, seen, shown, watch

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from textual.pilot import Pilot

    from arena.tui.screens.dashboard import Dashboard


def test_bots_are_listed_and_told_of(shown_store: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "5")
        assert isinstance(app.screen, BotsScreen)
        text = seen(app)
        for fact in ("bots ", "mcts ", "status", "forfeits", "quarantined", "never checked here"):
            assert fact in text, fact
        while (row := app.screen.table.current) is not None and row.name != "random":
            await press(pilot, "down")
        assert "random 0.1.0: 14 matches, no forfeit" in seen(app)
        await press(pilot, "y")
        assert app.clipboard == "random"
        await press(pilot, "enter")
        assert isinstance(app.screen, BotPageScreen)
        await press(pilot, "o")
        assert isinstance(app.screen, MatchesScreen)
        assert app.screen.filter_text == "bot:random"

    shown(watch(shown_store), act)


SAYS = (
    "import sys; print(sys.argv[1:]); "
    'print(\'{"name":"random","entry":"arena_bots.random","distribution":"bot-arena","status":"boom"}\'); '
    "sys.exit(5 * ('check' in sys.argv))"
)


def test_loading_info_and_check_are_programs_of_their_own(
    shown_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arena.tui.shell.child.PROGRAM", (sys.executable, "-S", "-c", SAYS))

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "5")
        assert "with problems 1" in seen(app)
        await press(pilot, "i")
        panel = app.screen.query_one(OutputPanel)
        assert "arena bots info -- " in panel.title
        assert panel.note == "done"
        assert "['bots', 'info', '--', " in panel.said[0]
        await press(pilot, "y", "escape", "t")
        assert "['bots', 'check', '--game', 'tic-tac-toe', '--', " in panel.said[0]
        assert "[ ended with 5 ]" in seen(app)
        await press(pilot, "escape")
        assert "never checked here" in seen(app)

    shown(watch(shown_store), act)


def test_the_real_check_is_kept_and_shown(shown_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena.tui.shell.child.PROGRAM", (sys.executable, "-P", "-m", "arena"))
    monkeypatch.setattr("arena.tui.screens.bots_screen.LIST_WORDS", ("bots", "list", "--help"))

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "5")
        assert isinstance(app.screen, BotsScreen)
        while (row := app.screen.table.current) is not None and row.name != "random":
            await press(pilot, "down")
        await press(pilot, "t")
        said = app.screen.query_one(OutputPanel).said
        assert said[-1] == "random keeps the contract in tic-tac-toe"
        await press(pilot, "escape")
        assert f"check of random: {len(said) - 1}/{len(said) - 1} in tic-tac-toe" in seen(app)

    shown(watch(shown_store), act)


def test_runs_are_drawn_compared_and_paged(shown_store: Path, runs: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "6")
        assert isinstance(app.screen, TrainScreen)
        text = seen(app)
        for fact in ("runs 2", "td-1", "+- loss", "score v reference", "games_per_s", "872.5", "* random"):
            assert fact in text, fact
        assert "charts 2 of 4, page 1/2   compare: off" in text
        await press(pilot, "right_square_bracket")
        assert "learning rate" in seen(app)
        await press(pilot, "c")
        assert "compare: 2 runs" in seen(app)
        assert "* td-2" in seen(app)
        assert "o td-1" in seen(app)
        await press(pilot, "enter")
        assert "compare: 1 runs" in seen(app), "the marked one alone"
        await press(pilot, "enter", "c", "down", "l")
        assert "saved weights.npz" in seen(app)
        await press(pilot, "escape", "y")
        assert app.clipboard == str(runs / "td-1")

    shown(watch(shown_store), act)


def test_a_run_is_followed_as_it_grows(shown_store: Path, runs: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "6")
        with (runs / "td-2" / "metrics.jsonl").open("a", encoding="utf-8") as file:
            file.write('{"step":4200,"name":"loss","value":0.1234,"t":1763745990}\n{"step":4400,"na')
            file.flush()
            await press(pilot, "r")
            text = seen(app)
            assert "0.1234" in text
            assert "4200" in text
            assert "td-2 live" in text
            file.write('me":"loss","value":NaN,"t":1763745991}\nbroken\n')
        await press(pilot, "r")
        assert "! 1 damaged lines, 1 values not a number" in seen(app)
        assert any("loss" in line and "not a number @" in line for line in screen_lines(app))

    shown(watch(shown_store), act, (120, 40))


def test_a_run_is_paused_resumed_and_stopped(shown_store: Path, runs: Path) -> None:
    orders = RunOrders(runs / "td-2")
    taken: list[str] = []
    is_over = threading.Event()

    def train() -> None:
        while not is_over.wait(0.01):
            with suppress(OSError):
                taken.append((runs / "td-2" / "order").read_text("utf-8"))
                orders.take()

    process = threading.Thread(target=train)
    process.start()

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "6", "P")
        assert "td-2 writes a checkpoint at its next step and waits there" in seen(app)
        paused = runs / "td-2" / "paused"
        paused.touch()
        os.utime(paused, (app.clock(), app.clock()))
        await press(pilot, "r", "P")
        assert "td-2 continues" in seen(app)
        await press(pilot, "X")
        assert "Stop td-2?" in seen(app)
        await press(pilot, "y")
        assert "td-2 writes a checkpoint at its next step and ends" in seen(app)

    try:
        shown(watch(shown_store), act, (140, 40))
    finally:
        is_over.set()
        process.join()
    assert taken == ["pause", "resume", "stop"]


def test_no_runs_is_told(shown_store: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "6", "c", "l", "right_square_bracket", "enter", "y", "escape")
        assert "no run yet; arena train" in seen(app)

    shown(watch(shown_store), act)

"""Screens 7 and 8: tournaments are watched, created and controlled; exports."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

import pytest

from arena.coordinator.config import Refusal, TournamentConfig
from arena.tui.screens.export_screen import ExportScreen
from arena.tui.screens.new_events import NewTournamentScreen
from arena.tui.screens.tournaments_screen import TournamentsScreen
from arena.tui.shell.confirm import ConfirmScreen
from arena.tui.widgets.bare_lines import BareLines
from arena.tui.widgets.form import Choice, FormField, Push
from arena.tui.widgets.output_panel import OutputPanel
from arena.watching.feed import FeedUpdate
from arena.watching.query_answers import Empty
from arena_db.store import Store
from dashboard import settle
from stores import add_cup
from watching import Brief, press, seen, shown, watch

if TYPE_CHECKING:
    from pathlib import Path

    from textual.pilot import Pilot

    from arena.tui.screens.dashboard import Dashboard
    from arena.watching.query import Query


def test_tournaments_are_listed_and_watched(shown_store: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "7")
        assert isinstance(app.screen, TournamentsScreen)
        text = seen(app)
        for fact in (
            "tournaments 2, running 0",
            "spring",
            "finished",
            "24/24",
            "2/2",
            "duel",
            "round-robin of tic",
        ):
            assert fact in text, fact
        await press(pilot, "P")
        assert "! spring is finished" in seen(app), "the cursor is on the one that is watched"
        await press(pilot, "y")
        assert app.clipboard == "spring"

    shown(watch(shown_store), act)


def test_whom_a_tournament_refused_is_shown_with_the_cause(tmp_path: Path) -> None:
    refused = [Refusal(f"pupil{number}", f"init_crash: {number} / 0 in bot.py:7") for number in range(1, 5)]
    few, many = (TournamentConfig(refused=tuple(some)).to_toml() for some in (refused[:3], refused))
    with Store.open(tmp_path / "arena.db") as store:
        add_cup(store, name="spring", config=many)
        add_cup(store, name="few", config=few)

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        assert "! pupil2 is refused: init_crash: 2 / 0 in bot.py:7" in seen(app), "beside the matches, too"
        await press(pilot, "7")
        text = seen(app)
        assert "! refused: pupil2: init_crash: 2 / 0 in bot.py:7" in text
        assert "pupil3" not in text
        assert "! 2 more were refused: arena show spring" in text
        await press(pilot, "up")
        text = seen(app)
        for number in (1, 2, 3):
            assert f"! refused: pupil{number}: init_crash: {number} / 0 in bot.py:7" in text
        assert "more were refused" not in text

    shown(watch(tmp_path / "arena.db"), act, (160, 50))


def test_another_tournament_can_be_watched(shown_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena.tui.screens.dashboard.StoreFeed", Brief)

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "7", "up", "enter")
        assert app.tournament == "duel"
        assert "ENDED o duel" in seen(app)
        assert app.screen.name == "live"
        await press(pilot, "2")
        assert "standings duel" in seen(app)

    shown(watch(shown_store), act)


def test_a_tournament_that_is_still_read_is_not_said_to_be_empty(
    shown_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Silent(Brief):
        def poll(self) -> FeedUpdate:
            return FeedUpdate(is_last=True)

    monkeypatch.setattr("arena.tui.screens.dashboard.StoreFeed", Silent)

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "7", "up", "enter")
        text = seen(app)
        for fact in ("LOADING o duel", " loading ...", " computing ratings ..."):
            assert fact in text, fact
        for untrue in ("WAITING", "nothing is planned", "no boards", "0/0", "seq 0"):
            assert untrue not in text, untrue
        await press(pilot, "2")
        assert "computing ratings ..." in seen(app)

    shown(watch(shown_store), act)


def test_the_cursor_stays_when_a_question_closes(shown_store: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "7", "up", "D")
        assert isinstance(app.screen, ConfirmScreen)
        await press(pilot, "n")
        screen = app.screen
        assert isinstance(screen, TournamentsScreen)
        assert screen.table.current is not None
        assert screen.table.current.name == "duel", "not the watched one: the next command is for this one"

    shown(watch(shown_store), act)


def test_the_cursor_goes_to_another_watched_tournament(
    shown_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arena.tui.screens.dashboard.StoreFeed", Brief)

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "7")
        screen = app.screen
        assert isinstance(screen, TournamentsScreen)
        names = {row.name: row.id for row in map(screen.table.row, range(screen.table.num_rows))}
        for name in ("duel", "spring"):
            await app.attach(names[name], name)
            await press(pilot, "7")
            # The list is read again every two seconds, which may cancel a query that a busy machine delays.
            while screen.table.current is None or screen.table.current.name != name:
                await pilot.pause(0.01)

    shown(watch(shown_store), act)


def test_the_cursor_stays_where_the_user_moves_it_before_the_list_arrives(shown_store: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "7")
        screen = app.screen
        assert isinstance(screen, TournamentsScreen)
        # Another tournament is watched, and the list that would move the cursor to it has not arrived yet.
        app.tournament = "duel"
        await pilot.press("up", "down")
        screen.reload()
        await settle(pilot)
        assert screen.table.current is not None
        assert screen.table.current.name == "spring"

    shown(watch(shown_store), act)


def test_a_store_that_is_gone_has_no_number_of_tournaments(shown_store: Path, tmp_path: Path) -> None:
    path = tmp_path / "arena.db"
    shutil.copy(shown_store, path)

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        path.unlink()
        await press(pilot, "7")
        assert "tournaments 0" not in seen(app)
        assert "is gone" in seen(app)

    shown(watch(path), act)


def test_a_store_without_a_tournament_has_none(shown_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_none(_: Query, *, archived: bool = False) -> Empty:
        del archived
        return Empty("no tournament yet")

    monkeypatch.setattr("arena.tui.screens.tournaments_screen.read_tournaments", read_none)

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "7")
        assert "tournaments 0, running 0" in seen(app)

    shown(watch(shown_store), act)


def test_the_form_shows_line_estimate_and_what_is_wrong(shown_store: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "7", "n")
        screen = app.screen
        assert isinstance(screen, NewTournamentScreen)
        assert "there are " in seen(app)
        assert "! name the bots that are to play" in seen(app)
        await press(pilot, *"random")
        await settle(pilot)
        assert seen(app).count("! a round-robin needs at least two bots; 1 given") == 1, (
            "not the estimate, too"
        )
        await press(pilot, *" 1")
        assert screen.query_one("#field-bots", FormField).value == "random 1", "digits are text here"
        await press(pilot, "backspace", *"mcts:playouts=20", "tab", "tab", "right", "tab")
        assert screen.query_one("#field-isolation", Choice).value == "none"
        line = "arena tournament --db"
        assert line in seen(app)
        assert screen.line().endswith("--game=tic-tac-toe --isolation=none -- random mcts:playouts=20")
        assert "20 matches, " in seen(app)
        assert "stored matches, 1 of 1 pairs have met)" in seen(app)
        screen.query_one("#push-copy", Push).focus()
        await press(pilot, "enter")
        assert app.clipboard == screen.line()
        await press(pilot, "escape")
        assert isinstance(app.screen, TournamentsScreen)

    shown(watch(shown_store), act, (120, 40))


def test_a_tournament_is_begun_watched_and_stays_when_the_dashboard_ends(
    shown_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arena.tui.screens.dashboard.StoreFeed", Brief)
    path = tmp_path / "own.db"
    shutil.copyfile(shown_store, path)
    bots = "random minimax:depth=1"

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "7", "n")
        screen = app.screen
        assert isinstance(screen, NewTournamentScreen)
        screen.query_one("#field-bots", FormField).value = bots
        screen.query_one("#field-name", FormField).value = "spring"
        screen.query_one("#field-more", FormField).value = "--require-tier T0 --executor inline --rounds 1"
        screen.query_one("#field-isolation", Choice).value = "none"
        push = screen.query_one("#push-start", Push)
        push.focus()
        await press(pilot, "enter")
        assert "! there is a tournament spring already" in seen(app)
        screen.show_found("what takes long to work out", "")
        await settle(pilot)
        assert "! there is a tournament spring already" in seen(app)
        screen.query_one("#field-name", FormField).value = "begun"
        await settle(pilot)
        # Typing has started a second query.
        await settle(pilot)
        assert "spring already" not in seen(app)
        await press(pilot, "enter")
        assert app.tournament == "begun"
        assert app.screen.name == "live"

    shown(watch(path), act)
    with Store.open(path, read_only=True) as store:
        record = store.tournaments.find("begun")
        assert record is not None
        assert record.num_planned == 2


def test_stop_and_resume_ask_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "left.db"
    with Store.open(path) as store:
        add_cup(store, "a", "b", num=4, name="cup")

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "7")
        assert "no coordinator" in seen(app)
        await press(pilot, "X")
        assert "! cup is no coordinator" in seen(app) or "cup is not being run" in seen(app)
        await press(pilot, "R")
        assert isinstance(app.screen, ConfirmScreen)
        assert "arena resume --db" in seen(app)
        await press(pilot, "n")
        await press(pilot, "R", "y")
        await settle(pilot)
        said = "".join(app.screen.query_one("#said", BareLines).text_lines())
        assert said.startswith(" ! "), "the store has no configuration of it, and that is what is said"

    monkeypatch.setattr("arena.tui.screens.tournaments_screen._LOOK_S", 1e6)
    shown(watch(path), act, (120, 24))


def test_an_export_is_seen_before_it_is_run(shown_store: Path, tmp_path: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "8")
        screen = app.screen
        assert isinstance(screen, ExportScreen)
        text = seen(app)
        for fact in ("24 matches of tic-tac-toe", "! out: name the folder", "spring/24 ", "[npz]"):
            assert fact in text, fact
        screen.query_one("#field-out", FormField).value = str(tmp_path / "data")
        screen.query_one("#field-filter", FormField).value = "bot:mc* ply<7"
        await settle(pilot)
        assert "'--where=bot:mc* ply<7' -- " in screen.line()
        assert "! " not in seen(app)
        screen.query_one("#field-filter", FormField).value = "tournament:duel"
        await settle(pilot)
        assert "2 matches of tic-tac-toe" in seen(app)
        assert screen.line().endswith(f"--format=npz --where=tournament:duel -- {tmp_path / 'data'}")
        await press(pilot, "y")
        assert app.clipboard == screen.line()

    shown(watch(shown_store), act)


def test_an_export_is_a_program_of_its_own(shown_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import sys; print('exported 1/2\\rexported 2/2'); print(sys.argv[1:])"
    monkeypatch.setattr("arena.tui.shell.child.PROGRAM", (sys.executable, "-S", "-c", code))

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "8")
        screen = app.screen
        assert isinstance(screen, ExportScreen)
        push = screen.query_one("#push-export", Push)
        push.focus()
        await press(pilot, "enter")
        assert "name the folder or file" in seen(app), "nothing is run without a place"
        screen.query_one("#field-out", FormField).value = "data"
        push.focus()
        await press(pilot, "enter")
        panel = screen.query_one(OutputPanel)
        assert list(panel.said[:2]) == ["exported 1/2", "exported 2/2"]
        assert panel.said[2] == str(
            ["export", "--db", str(shown_store), "--format=npz", "--where=tournament:spring", "--", "data"]
        )
        assert (panel.title, panel.note) == ("exported", "done")
        await press(pilot, "escape")
        assert panel.title == "newest of them"

    shown(watch(shown_store), act)


def test_an_export_is_really_written(
    shown_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arena.tui.shell.child.PROGRAM", (sys.executable, "-P", "-m", "arena"))
    monkeypatch.setattr("arena.tui.screens.bots_screen.LIST_WORDS", ("bots", "list", "--help"))

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "E")
        assert isinstance(app.screen, ExportScreen)
        app.screen.query_one("#field-out", FormField).value = str(tmp_path / "out")
        app.screen.query_one("#push-export", Push).focus()
        await press(pilot, "enter")
        panel = app.screen.query_one(OutputPanel)
        assert panel.title == "exported", panel.said
        assert "24 matches" in panel.said[-1]

    shown(watch(shown_store), act)
    assert (tmp_path / "out" / "manifest.json").is_file()


@pytest.mark.parametrize(
    ("keys", "brought"),
    [
        ("1", "tournament:spring"),
        ("2", "tournament:spring bot:mcts:playouts=20"),
        ("3", "tournament:spring"),
        ("4", "bot:"),
        ("5", "bot:"),
        ("7", "tournament:spring"),
    ],
)
def test_export_brings_the_filter_at_hand(shown_store: Path, keys: str, brought: str) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, *keys)
        if keys == "4":
            await press(pilot, "right")
        await press(pilot, "E")
        assert isinstance(app.screen, ExportScreen)
        assert brought in app.screen.query_one("#field-filter", FormField).value

    shown(watch(shown_store), act)

"""Regression tests for small faults of screens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace
from textual.command import CommandPalette

from arena.live.reducer import reduce_all
from arena.live.table_views import MatchRow
from arena.live.views import LiveView, MatchView, ProgressView
from arena.tui.glyphs import choose_glyphs
from arena.tui.screens.export_screen import ExportScreen
from arena.tui.screens.live_panels import WallPanel
from arena.tui.shell.chrome import HeaderLine
from arena.tui.shell.confirm import ConfirmScreen
from arena.tui.shell.follow import NewData
from arena.tui.shell.keys import HelpScreen
from arena.tui.widgets.bars import ProgressPanel
from arena.tui.widgets.encounter_tables import Matrix
from arena.tui.widgets.form import FormField
from arena.tui.widgets.large_board import LargeBoard
from arena.tui.widgets.match_list import MatchList
from arena.tui.widgets.small_board import SmallBoard
from arena.watching.feed import FeedUpdate, Health
from dashboard import (
    RUN,
    RUN_EVENTS,
    Host,
    lines_of,
    matrix,
    piloted,
    running_dashboard,
    sample_app,
    screen_lines,
    settle,
    standings,
    stored_matches,
)
from feeds import RecordedFeed
from live_samples import match_events
from watching import press, seen, shown, watch

if TYPE_CHECKING:
    from pathlib import Path

    from textual.pilot import Pilot

    from arena.tui.screens.dashboard import Dashboard


async def _painted(pilot: Pilot[None], app: Dashboard) -> None:
    """Wait until the data of a recorded feed is shown."""
    await settle(pilot)
    app.paint(everything=True)
    await pilot.pause()


def _match(game: str, moves: list[str]) -> MatchView:
    return next(iter(reduce_all(LiveView(), match_events(game, moves)).matches.values()))


def _flipped(game: str, moves: list[str]) -> tuple[list[str], list[str]]:
    board = LargeBoard()
    app = Host(board)

    async def act(pilot: Pilot[None]) -> tuple[list[str], list[str]]:
        board.show(_match(game, moves))
        await pilot.pause()
        before = lines_of(board)
        board.flip()
        await pilot.pause()
        return before, lines_of(board)

    return piloted(app, act)


def test_x_mirrors_columns_alone_where_stones_fall() -> None:
    before, after = _flipped("connect-four", ["1", "1", "2"])
    rows = [line[2:3] for line in before if line[2:3].isdigit()]
    assert [line[2:3] for line in after if line[2:3].isdigit()] == rows == list("654321")
    (heads,) = [line for line in after if "7   6   5" in line]
    assert "3   2   1" in heads
    (lowest,) = [line for line in after if line.startswith("| 1 ")]
    assert lowest.split("|")[2:9][::-1] == [" X ", "[X]", *["   "] * 5]


def test_x_turns_boards_without_gravity() -> None:
    before, after = _flipped("gomoku:size=6,k=4", ["a1"])
    rows = [line.split()[1] for line in before if line[2:3].isdigit()]
    assert [line.split()[1] for line in after if line[2:3].isdigit()] == rows[::-1]


def test_a_click_on_a_large_board_means_what_is_drawn_there() -> None:
    board = LargeBoard()
    app = Host(board)

    async def act(pilot: Pilot[None]) -> None:
        board.styles.width, board.styles.height = 40, 28
        for game, moves in (("gomoku:size=6,k=4", ["a1", "c5"]), ("tic-tac-toe", ["a3"])):
            match = _match(game, moves)
            board.show(match)
            await pilot.pause()
            for flips in range(2):
                stones = [
                    (x, y)
                    for y, line in enumerate(lines_of(board))
                    for x, sign in enumerate(line)
                    if sign in "XO" and line.count("|") > 2  # frame and grid
                ]
                assert len(stones) == len(moves), (game, flips)
                assert {board.action_at(x, y) for x, y in stones} == set(match.actions)
                board.flip()
                await pilot.pause()

    piloted(app, act, (80, 40))


@pytest.mark.parametrize("width", [22, 24, 26])
@pytest.mark.parametrize(("done", "planned"), [(312, 600), (123_456, 1_000_000), (9_999_999, None)])
@pytest.mark.parametrize("rate", [7.8, 1234.5, 98_765.4])
def test_progress_keeps_its_digits(width: int, done: int, planned: int | None, rate: float) -> None:
    panel = ProgressPanel()
    panel.has_frame = False
    app = Host(panel)

    async def act(pilot: Pilot[None]) -> str:
        panel.styles.width, panel.styles.height = width, 3
        panel.show(ProgressView(state="running", done=done, planned=planned, given_rate=rate))
        await pilot.pause()
        return "\n".join(lines_of(panel))

    text = piloted(app, act)
    assert f"{done}/{planned}" in text if planned else f" {done} " in text
    assert ".." not in text.replace("..]", "]").replace("#.", "#").split("\n")[0]
    if planned:
        eta = text.splitlines()[2].partition("ETA ")[2].strip()
        assert eta.endswith(("s", "min", "h")) or "h" in eta, text


@pytest.mark.parametrize(
    ("environ", "is_ascii"),
    [
        ({"LC_ALL": "C"}, True),
        ({"LC_ALL": "POSIX"}, True),
        ({"LC_ALL": "C.UTF-8"}, False),
        ({"LC_ALL": "de_DE.UTF-8", "LANG": "C"}, False),
        ({"LANG": "C.UTF-8"}, False),
    ],
)
def test_the_locale_c_means_ascii(
    environ: dict[str, str], *, is_ascii: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Utf8:
        encoding = "utf-8"

    monkeypatch.setattr("sys.stdout", Utf8())
    assert choose_glyphs(None, {"TERM": "xterm", **environ}).is_ascii == is_ascii
    assert not choose_glyphs("unicode", {"LC_ALL": "C"}).is_ascii, "what is asked for counts"


def test_ascii_holds_in_palette_help_question_news_and_scroll_bars(shown_store: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        for key in "12345678":
            await press(pilot, key)
            assert seen(app).isascii(), key
            for over, kind in (("ctrl+p", CommandPalette), ("question_mark", HelpScreen)):
                await press(pilot, over)
                assert isinstance(app.screen, kind)
                assert seen(app).isascii(), (key, over)
                await press(pilot, "escape")
        await press(pilot, "ctrl+p")
        await pilot.press("g", "o")
        while "as the key" not in seen(app) and "Show the screen" not in seen(app):
            await pilot.pause(0.01)
        assert seen(app).isascii()
        await press(pilot, "escape", "1")
        await press(pilot, "y", "X")
        assert seen(app).isascii()

    shown(watch(shown_store), act)


def _header(health: Health, state: str = "running", size: int = 160) -> str:
    app = sample_app(RecordedFeed([FeedUpdate(events=RUN_EVENTS, health=health)]))

    async def look(pilot: Pilot[None]) -> str:
        await settle(pilot)
        if state != "running":
            view = app.latest.view
            progress = replace(view.progress, state=state)
            app.post_message(NewData(replace(app.latest, view=replace(view, progress=progress))))
            await settle(pilot)
        return "\n".join([*app.screen.query_one(HeaderLine).text_lines(), *screen_lines(app)])

    return piloted(app, look, (size, 40))


def test_without_a_coordinator_or_while_stopping_nothing_is_live() -> None:
    assert RUN.rate == 7.8
    living = _header(Health(heartbeat_t=1e6, lease_until=1e9))
    assert all(word in living for word in ("LIVE", "7.8 matches/min", "ETA"))
    for health in (Health(heartbeat_t=1.0, lease_until=0.0), Health(heartbeat_t=99.0, lease_until=50.0)):
        text = _header(health)
        assert "no coordinator" in text
        assert not [word for word in ("LIVE", "matches/min", "ETA") if word in text.splitlines()[0]]
    text = _header(Health(heartbeat_t=1.0, lease_until=1e9, is_silent=True))
    assert "STALE" in text
    assert not [word for word in ("LIVE", "matches/min", "ETA") if word in text]
    for state in ("stopping", "ended"):
        text = _header(Health(heartbeat_t=1e6, lease_until=1e9), state)
        assert state.upper() in text
        assert not [word for word in ("LIVE", "matches/min", "ETA") if word in text]
    paused = _header(Health(heartbeat_t=1e6, lease_until=1e9), "paused")
    assert "ETA" not in paused


def test_the_header_stays_during_a_question(shown_store: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        for keys in (["1"], ["3", "enter"]):
            await press(pilot, *keys)
            before = screen_lines(app)[:2]
            assert ("REPLAY" in before[0]) == (len(keys) > 1)
            app.push_screen(ConfirmScreen("Sure?"))
            await settle(pilot)
            assert app.uppermost is not None
            app.uppermost.repaint_lines()
            await settle(pilot)
            assert screen_lines(app)[:2] == before
            await press(pilot, "escape")

    shown(watch(shown_store), act)


def test_empty_places_of_the_wall_are_not_drawn_and_boards_grow(tmp_path: Path) -> None:
    for size, width in (((80, 24), 18), ((200, 60), 34)):
        app = running_dashboard(tmp_path, {"standings": standings(), "matrix": matrix()}, glyphs="ascii")

        async def act(pilot: Pilot[None], app: Dashboard = app) -> int:
            await _painted(pilot, app)
            (wall,) = pilot.app.screen.query(WallPanel)
            drawn = [board for board in wall.query(SmallBoard) if board.display and board.visible]
            assert [board.match is not None for board in drawn] == [True]
            assert app.screen.focused is drawn[0], "the one match has the focus"
            return drawn[0].size.width

        assert piloted(app, act, size) >= width, size
    for size, lines in (((120, 40), 4), ((200, 60), 8)):
        app = running_dashboard(tmp_path, {"standings": standings()}, glyphs="ascii")

        async def events(pilot: Pilot[None], app: Dashboard = app) -> int:
            await _painted(pilot, app)
            return pilot.app.screen.query_one("#events").size.height

        assert piloted(app, events, size) == lines


def test_replay_grows_with_the_terminal(shown_store: Path) -> None:
    heights: list[tuple[int, int, int]] = []
    tall: list[bool] = []
    for size in ((80, 24), (120, 40), (200, 60)):

        async def act(pilot: Pilot[None], app: Dashboard) -> None:
            await press(pilot, "3", "enter")
            shown = screen_lines(app)
            rows = sum(
                line.count("+---+---+---+") + line.count("+-------+-------+-------+") for line in shown
            )
            tall.append(any("|[  X  ]|" in line or "|[( O )]|" in line for line in shown))
            chart = app.screen.query_one("EvalChart").size
            heights.append((rows, chart.width, chart.height))

        shown(watch(shown_store), act, size)
    assert heights == sorted(heights)
    assert heights[-1][0] == 4, "rules between the rows of tic-tac-toe, and around them"
    assert tall == [False, True, True]
    assert heights[-1][1] >= 80
    assert heights[-1][2] > heights[0][2]


def test_matches_show_date_duration_opening_and_mistakes_where_there_is_room() -> None:
    row = MatchRow(
        stored=1, number=1, names=("az", "mm"), outcome="first", termination="rules", plies=9, t=0.0,
        tournament="rr", game="connect-four", duration_ms=7_200, opening="4 3", mistakes=2,
    )  # fmt: skip
    provider = stored_matches(1)
    provider._row = lambda _: row  # noqa: SLF001 # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue] # one that has it all

    def text(width: int) -> str:
        found = MatchList(provider)
        app = Host(found)

        async def act(pilot: Pilot[None]) -> str:
            await settle(pilot)
            return "\n".join(screen_lines(pilot.app))

        return piloted(app, act, (width, 10))

    heads = ("began", "took", "err", "opening", "game")
    assert not [head for head in heads if head in text(80)]
    assert all(head in text(160) for head in heads)
    assert all(word in text(160) for word in ("1970-01-01", "7.2 s", " 2 4 3", "connect-four"))
    assert "began" in text(120)


def test_cells_show_n_where_there_is_room() -> None:
    def text(width: int) -> str:
        widget = Matrix()
        widget.show(matrix())
        app = Host(widget)

        async def act(pilot: Pilot[None]) -> str:
            await settle(pilot)
            return "\n".join(lines_of(widget))

        return piloted(app, act, (width, 20))

    wide = text(120)
    assert wide.count("n100") == 30, "a cell for two bots"
    assert "67* n100" in wide
    assert text(60).count("n100") == 0
    assert "67*" in text(60)


def test_export_begins_with_the_tournament_of_the_dashboard(shown_store: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "8")
        field = app.screen.query_one("#field-filter", FormField)
        assert isinstance(app.screen, ExportScreen)
        assert field.value == "tournament:spring"
        assert "24 matches" in seen(app)
        await press(pilot, "1")
        app.tournament = "duel"
        await press(pilot, "8")
        assert field.value == "tournament:duel"
        field.value = "bot:mcts*"
        app.tournament = "spring"
        await press(pilot, "1", "8")
        assert field.value == "bot:mcts*", "what somebody wrote stays"

    shown(watch(shown_store), act)


def test_help_names_the_screens(shown_store: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "question_mark")
        assert isinstance(app.screen, HelpScreen)
        lines = app.screen.text.plain.splitlines()
        for key, name in (("1", "Live"), ("4", "Matrix"), ("7", "Tournaments"), ("8", "Export")):
            assert [line.split(maxsplit=1)[1] for line in lines if line.split()[:1] == [key]] == [
                f"Screen {name}"
            ]
        assert not [line for line in lines if line.endswith(("Screen 1", "Screen 8"))]

    shown(watch(shown_store), act)

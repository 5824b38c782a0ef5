"""Reactions of widgets to keys and the mouse; only changed regions are painted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace
from textual import events
from textual.geometry import Region

from arena.live.table_views import Point, Series
from arena.live.views import LiveView, MoveView
from arena.tui.text import clip, clip_pair, fit, join, left, line_width, merge, right, safe
from arena.tui.widgets.board_cells import short_count
from arena.tui.widgets.canvas import Canvas
from arena.tui.widgets.charts import EvalChart, LineChart, RatingPlot
from arena.tui.widgets.large_board import LargeBoard
from arena.tui.widgets.moves import MoveList, Timeline
from arena.tui.widgets.row_list import RowList
from arena.tui.widgets.small_board import SHORT_TERMINATIONS, SmallBoard, short_termination
from arena.tui.widgets.standings_table import StandingsTable
from arena_plugins.contract import Termination
from arena_plugins.thoughts import Thoughts
from dashboard import Heard, Host, lines_of, lines_over_time, piloted, standings
from live_samples import played

if TYPE_CHECKING:
    from textual.pilot import Pilot

    from arena.live.views import Mark


def test_only_lines_that_changed_are_painted(monkeypatch: pytest.MonkeyPatch) -> None:
    board = SmallBoard()
    app = Host(board)
    painted: list[tuple[Region, ...]] = []

    async def act(pilot: Pilot[None]) -> None:
        board.show(played("connect-four", "4 4"), 3.5)
        await pilot.pause()
        refresh = Canvas.refresh
        monkeypatch.setattr(
            Canvas,
            "refresh",
            lambda self, *regions, **kw: (painted.append(regions), refresh(self, *regions, **kw))[1],  # pyright: ignore[reportUnknownLambdaType, reportUnknownMemberType, reportUnknownArgumentType] # as refresh
        )
        board.tick(3.9)
        assert painted == [], "no digit has changed"
        board.tick(5.6)
        assert painted == [(Region(3, 8, 5, 1),)], "the digits of one clock"
        painted.clear()
        board.show(played("connect-four", "4 4 1"), 4.0)
        assert {region.y for region in painted[0]} == {6, 7, 8}, "two stones and the clocks"
        lines_of(board)

    piloted(app, act)


def test_a_board_opens_by_key_and_click() -> None:
    boards = [SmallBoard(), SmallBoard()]
    app = Heard(*boards)

    async def act(pilot: Pilot[None]) -> None:
        boards[0].show(played("connect-four", "4", number=7), 3.0)
        boards[0].focus()
        await pilot.press("enter")
        await pilot.click(boards[1])
        boards[1].show(played("tic-tac-toe", "", number=8), 3.0)
        await pilot.click(boards[1])

    piloted(app, act)
    assert [getattr(message, "number", None) for message in app.heard] == [7, 8], (
        "an empty place opens nothing"
    )


def test_boards_that_do_not_fit_show_the_last_move() -> None:
    narrow, shallow, strange = SmallBoard(), SmallBoard(), SmallBoard()
    narrow.styles.width, narrow.styles.height = 18, 19
    shallow.styles.width, shallow.styles.height = 34, 9
    app = Host(narrow, shallow, strange)

    async def act(pilot: Pilot[None]) -> list[list[str]]:
        match = played("gomoku", "h8 h9 b2")
        narrow.show(match, 3.0)
        shallow.show(match, 3.0)
        strange.show(replace(match, rows=0, columns=0, cells=(), trouble="no game gomoku [/]"), 3.0)
        await pilot.pause()
        return [lines_of(widget) for widget in (narrow, shallow, strange)]

    lines = piloted(app, act, size=(80, 60))
    assert "| ...............|" in lines[0], lines[0]
    assert any(".[X]." in line for line in lines[1])
    assert len(lines[1]) == 9
    assert any("no game gomoku" in line for line in lines[2])


@pytest.mark.parametrize("termination", Termination)
def test_terminations_have_short_forms(termination: Termination) -> None:
    assert 2 < len(short_termination(termination)) <= 7
    assert len(termination) <= 7 or termination in SHORT_TERMINATIONS


def test_actions_lie_where_a_board_is_clicked() -> None:
    board, cells = LargeBoard(), LargeBoard()
    app = Host(board, cells)

    async def act(pilot: Pilot[None]) -> None:
        assert board.action_at(5, 5) is None, "nothing is shown yet"
        board.show(played("connect-four", "4"))
        cells.show(played("tic-tac-toe", "b2"))
        await pilot.pause()
        lines = lines_of(board)
        x = lines[1].index("3")
        assert [board.action_at(x + d, 4) for d in (-3, -2, -1, 0, 1, 2)] == [1, 2, 2, 2, 2, 3]
        assert board.action_at(0, 4) is None
        assert board.action_at(x, 0) == 2, "above the board, too"
        mark = next((y, line.index("[X]") + 1) for y, line in enumerate(lines_of(cells)) if "[X]" in line)
        assert cells.action_at(mark[1], mark[0]) == 4
        assert cells.action_at(mark[1], 0) is None
        board.flip()
        cells.flip()
        await pilot.pause()
        assert board.action_at(x, 4) == 4
        assert cells.action_at(mark[1] - 4, mark[0] - 1) == 8
        assert any("7   6   5" in line for line in lines_of(board))
        assert any("398" in line and line.index("398") < line.index("611") for line in lines_of(board))

    piloted(app, act)


def test_large_boards_of_all_sizes_keep_the_board() -> None:
    board = LargeBoard()
    app = Host(board)

    async def act(pilot: Pilot[None]) -> None:
        for spec, moves in (("connect-four", "4 4 4"), ("gomoku", "h8 b2"), ("tic-tac-toe", "b2")):
            for width in (12, 20, 38, 70):
                for height in (3, 6, 9, 12, 17, 26, 36):
                    board.styles.width, board.styles.height = width, height
                    board.show(played(spec, moves))
                    await pilot.pause()
                    # In tall cells there are blanks around the stone.
                    shown = "\n".join(lines_of(board)).replace(" ", "")
                    assert len(lines_of(board)) == height
                    if height > 3 and width >= 20 and spec != "gomoku":
                        assert "[X]" in shown or "[O]" in shown or "[(O)]" in shown

    piloted(app, act, size=(80, 40))


@pytest.mark.parametrize(
    ("number", "text"),
    [
        *((None, "-"), (0, "0"), (999, "999"), (1000, "1k"), (99_400, "99k"), (123_456, ".1M")),
        *((4_600_000, "5M"), (340_000_000, ".3G"), (2**63, "big")),
    ],
)
def test_counts_are_short(number: int | None, text: str) -> None:
    assert short_count(number) == text


def test_lists_move_by_keys_wheel_and_click() -> None:
    table = StandingsTable()
    app = Heard(table)

    async def act(pilot: Pilot[None]) -> list[int]:
        table.show(standings())
        table.focus()
        await pilot.pause()
        rows: list[int] = []
        for key in ("down", "j", "k", "up", "up", "end", "pageup", "home", "pagedown"):
            await pilot.press(key)
            rows.append(table.cursor)
        for scroll in (events.MouseScrollDown, events.MouseScrollDown, events.MouseScrollUp):
            table.post_message(scroll(table, 1, 1, 0, 1, 0, shift=False, meta=False, ctrl=False))
            await pilot.pause()
            rows.append(table.cursor)
        await pilot.click(table, offset=(4, 4))
        rows.append(table.cursor)
        await pilot.double_click(table, offset=(4, 3))
        await pilot.press("enter")
        rows.append(table.cursor)
        assert lines_of(table)[3].startswith("#>2 mm5")
        return rows

    rows = piloted(app, act)
    assert rows == [1, 2, 1, 0, 0, 5, 0, 0, 5, 5, 5, 4, 2, 1]
    opened = [message.row for message in app.heard if type(message) is RowList.Selected]
    assert opened == [1, 1]
    assert table.row(1).name == "mm5"


def test_timelines_of_any_length() -> None:
    line = Timeline()
    app = Heard(line)
    marks: list[Mark] = [""] * 225
    marks[99], marks[-1] = "~", "#"

    async def act(pilot: Pilot[None]) -> None:
        for num in (1, 2, 9, 30, 39, 40, 78, 79, 80, 225):
            for ply in (0, 1, num // 2, num):
                line.show(marks[-num:], ply)
                await pilot.pause()
                (text,) = lines_of(line)
                track = text.partition("]")[0]
                assert ("#" in track) == (ply != num), "the ply that is looked at lies over its mark"
                assert track.count("(") + track.count("o") == (ply > 0)
        for num in (9, 225):
            line.show(marks[-num:], 3)
            await pilot.pause()
            for x in (2, 40, 79):
                await pilot.click(line, offset=(x, 0))

    piloted(app, act)
    assert [getattr(message, "ply", -1) for message in app.heard] == [1, 7, 9, 1, 112, 225]


def test_moves_scroll_to_the_ply() -> None:
    moves = MoveList()
    moves.styles.height = 6
    app = Host(moves)
    many = [
        MoveView(ply=ply, player=ply % 2, action=1, text="h15", eval=50.0, elapsed_ms=123_456)
        for ply in range(1, 151)
    ]

    async def act(pilot: Pilot[None]) -> list[str]:
        moves.show(many, 120)
        await pilot.pause()
        return lines_of(moves)

    assert any(">120" in line for line in piloted(app, act))


def test_charts_without_data_and_without_room_are_empty() -> None:
    chart = LineChart("loss")
    widgets = [EvalChart(), chart, RatingPlot()]
    app = Host(*widgets)

    async def act(pilot: Pilot[None]) -> None:
        for size in ((8, 3), (14, 4), (40, 8)):
            for widget in widgets:
                widget.styles.width, widget.styles.height = size
            await pilot.pause()
            for widget in widgets:
                lines_of(widget)
        chart.show(lines_over_time(("only",)))
        await pilot.pause()
        assert any("* only" in line for line in lines_of(chart))

    piloted(app, act)


@pytest.mark.parametrize(
    ("ends", "labels"), [((2, 3), ["2", "3"]), ((2, 40), ["2", "40"]), ((0.5, 1), ["0.50", "1.00"])]
)
def test_a_chart_counts_matches_without_decimals(ends: tuple[float, float], labels: list[str]) -> None:
    chart = LineChart("rating over matches")

    async def act(pilot: Pilot[None]) -> None:
        chart.styles.width, chart.styles.height = 60, 8
        chart.show([Series("bot", tuple(Point(x, 1500) for x in ends))])
        await pilot.pause()
        assert lines_of(chart)[-2].replace("|", "").replace("│", "").split() == labels

    piloted(Host(chart), act)


def test_text_is_measured_in_cells() -> None:
    assert clip("日本語の名前", 7) == "日 ..前"
    assert line_width(((clip("日本語の名前です", 7), ""),)) <= 7
    assert (left("ab", 4), right("ab", 4)) == ("ab  ", "  ab")
    assert (left("日本", 6), right("日本", 6)) == ("日本  ", "  日本")
    assert (clip("abcdef", 3), clip("abcdef", 0), clip("abcdefgh", 6)) == ("abc", "", "ab..gh")
    assert fit((("abc", "x"), ("def", "y")), 4) == (("abc", "x"), ("d", "y"))
    assert fit((("a", "x"),), 3) == (("a", "x"), ("  ", ""))
    assert merge(list("aab"), ["x", "x", "y"]) == (("aa", "x"), ("b", "y"))
    assert join("a", (("b", "x"),)) == (("a", ""), ("b", "x"))
    assert safe("a\x1b[1m\u202eb") == "a[1mb"


@pytest.mark.parametrize(
    ("names", "width", "text"),
    [
        (("az", "mcts"), 12, "az v mcts"),
        (("alpha-p", "mcts"), 13, "al..-p v mcts"),
        (("mcts", "alpha-p"), 12, "mcts v al..p"),
        (("mi..x-1", "mi..x-2"), 13, "mi..1 v mi..2"),
        (("mi..x-1", "mi..x-2"), 12, "mi..1 v m..2"),
        (("az", "日本語の名前"), 13, "az v 日 ..前"),
        (("alpha-p", "mcts"), 7, "alp..ts"),
    ],
)
def test_each_name_of_a_pair_is_cut_on_its_own(names: tuple[str, str], width: int, text: str) -> None:
    assert clip_pair(*names, width) == text
    assert line_width(((text, ""),)) <= width


def test_narrow_boards_tell_both_names() -> None:
    for bots, edge in (
        (("m p100", "td-lam"), "+ m p100 v td-lam+"),
        (("m p40", "m p8"), "+- m p40 v m p8 -+"),
        (("minimax-deep", "minimax-flat"), "+ mi..ep v mi..at+"),
    ):
        board = SmallBoard()

        async def look(_: Pilot[None], board: SmallBoard = board) -> str:
            return lines_of(board)[0]

        board.show(played("connect-four", "4 4", bots=bots), 100.0)
        assert piloted(Host(board), look) == edge


def test_thoughts_without_a_board_show_dashes() -> None:
    board = LargeBoard()
    app = Host(board)

    async def act(pilot: Pilot[None]) -> list[str]:
        match = played("connect-four", "4")
        silent = replace(match.seats[0], thoughts=Thoughts(value=0.5))
        board.show(replace(match, seats=(silent, match.seats[1])))
        await pilot.pause()
        return lines_of(board)

    assert any(line.count(" -") == 7 and "N%" in line for line in piloted(app, act))
    assert LiveView().matches == {}

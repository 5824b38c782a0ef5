"""A bot's page, head-to-head scores and openings in the dashboard; the commands print the same text."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from arena.live.opening_views import position
from arena.results.bot_page import bot_page
from arena.results.condition import Condition
from arena.results.opening_statistics import find_openings, solve_moves
from arena.results.versus import versus
from arena.tui.screens.bots_screen import BotsScreen
from arena.tui.screens.dashboard import Dashboard, StartPoint
from arena.tui.screens.matches_screen import MatchesScreen
from arena.tui.screens.openings_screen import NextMoves, OpeningsScreen
from arena.tui.screens.page_screens import BotPageScreen, PagePanel, PageScreen, VersusScreen
from arena.tui.screens.replay_screen import ReplayScreen
from arena.tui.shell.keys import clashes
from arena.tui.start import SCREENS, replay_app
from arena.tui.widgets.large_board import LargeBoard
from arena.tui.widgets.match_list import MatchList
from arena.watching.bot_pages import curves_of, read_bot, read_openings, read_versus, version_ratings_of
from arena.watching.page_rows import bot_rows, versus_rows
from arena.watching.query import Cancelled, Query
from arena_db.store import Store
from dashboard import piloted, screen_lines, settle

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from textual.pilot import Pilot

    from arena.tui.shell.child import ChildProcess

GOLDEN = Path(__file__).parent / "golden" / "pages.txt"
SIZES = ((80, 24), (120, 40), (200, 60))
DEADLINE_S = 120.0


def shown(
    path: Path, act: Callable[[Pilot[None], Dashboard], Awaitable[None]], size: tuple[int, int] = (80, 24)
) -> None:
    """Show a dashboard without a feed and call `act` with its pilot."""
    app = Dashboard(
        None,
        SCREENS,
        store=str(path),
        at=StartPoint("spring"),
        glyphs="ascii",
        clock=lambda: 1e9,
        reduce_motion=True,
    )
    piloted(app, lambda pilot: act(pilot, app), size)


async def press(pilot: Pilot[None], *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
        await settle(pilot)
        # The data that arrived may have started a second query.
        await settle(pilot)


async def push(pilot: Pilot[None], screen: PageScreen | OpeningsScreen) -> None:
    await pilot.app.push_screen(screen)
    await settle(pilot)
    await settle(pilot)


def _rows(screen: object) -> list[str]:
    assert isinstance(screen, PageScreen)
    panel = screen.query_one(PagePanel)
    return [panel.row(place).text for place in range(panel.num_rows)]


def test_a_worst_loss_of_a_bot_is_three_keys_away(shown_store: Path) -> None:
    with Store.open(shown_store, read_only=True) as store:
        page = bot_page(store, "random")

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "5")
        assert isinstance(app.screen, BotsScreen)
        table = app.screen.table
        names = [table.row(place).name for place in range(table.num_rows)]
        table.go_to(names.index("random"))
        await press(pilot, "enter")
        assert isinstance(app.screen, BotPageScreen)
        await press(pilot, "w", "enter")
        assert isinstance(app.screen, ReplayScreen)
        assert app.screen.text_to_copy().startswith(page.worst[0].address)

    shown(shown_store, act)


def test_rows_of_a_page_lead_to_head_to_heads_versions_and_matches(shown_store: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await push(pilot, BotPageScreen("minimax"))
        panel = app.screen.query_one(PagePanel)
        panel.go_to(4)
        text = panel.row(4).text.split()
        await press(pilot, "enter")
        assert isinstance(app.screen, VersusScreen)
        assert " v " in app.screen.panel.title
        title = app.screen.panel.title
        await press(pilot, "x")
        assert app.screen.panel.title == " v ".join(reversed(title.split(" v ")))
        await press(pilot, "escape")
        assert isinstance(app.screen, BotPageScreen)
        assert panel.row(4).text.split() == text
        versions = next(place for place, row in enumerate(_rows(app.screen)) if row.startswith("Elo over"))
        panel.go_to(versions + 2)
        await press(pilot, "enter")
        assert isinstance(app.screen, BotPageScreen)
        assert len({row for row in _rows(app.screen) if row.startswith("minimax")}) == 1
        await press(pilot, "o")
        assert isinstance(app.screen, MatchesScreen)
        assert app.screen.query_one(MatchList).total > 0

    shown(shown_store, act)


def test_sections_are_walked_and_headings_lead_nowhere(shown_store: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await push(pilot, BotPageScreen("random"))
        panel = app.screen.query_one(PagePanel)
        heads = [place for place in range(panel.num_rows) if panel.row(place).style == "title"]
        walked = [panel.cursor]
        for _ in heads[1:]:
            await press(pilot, "n")
            walked.append(panel.cursor)
        assert walked == heads
        await press(pilot, "n", "enter")
        assert panel.cursor == heads[-1]
        assert isinstance(app.screen, BotPageScreen)
        await press(pilot, "N")
        assert panel.cursor == heads[-2]
        await press(pilot, "y")
        assert app.clipboard == panel.row(heads[-2]).text

    shown(shown_store, act)


@pytest.mark.parametrize("size", SIZES)
def test_pages_are_the_text_of_the_commands_in_the_cells_at_hand(
    shown_store: Path, size: tuple[int, int]
) -> None:
    width = size[0] - 3
    with Store.open(shown_store, read_only=True) as store:
        found = bot_page(store, "minimax")
        both = versus_rows(versus(store, "random", "minimax:depth=2", Condition(tournament="spring")), width)

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        screen = BotPageScreen("minimax")
        await push(pilot, screen)
        # On a large screen charts are beside the rows.
        room = screen.panel.size.width - 3
        assert room == width - 76 * (size == (200, 60))
        page = bot_rows(found, room)
        assert _rows(screen) == [row.text for row in page]
        assert max(len(row.text) for row in page) <= room, "numbers are never cut"
        assert clashes(app.screen) == {}
        assert all(len(line) == size[0] for line in screen_lines(app))
        await push(pilot, VersusScreen("random", "minimax:depth=2", "spring"))
        assert _rows(app.screen) == [row.text for row in both]
        assert clashes(app.screen) == {}

    shown(shown_store, act, size)
    # Numbers are never cut: columns that do not fit are left out.
    assert max(len(row.text) for row in both) <= width


@pytest.mark.parametrize(
    ("other", "column"),
    [({"game": "connect-four"}, "game"), ({"pool": "5/move hosted"}, "pool"), ({}, "")],
)
def test_rows_of_several_pools_are_told_apart_at_80_columns(
    shown_store: Path, other: dict[str, str], column: str
) -> None:
    with Store.open(shown_store, read_only=True) as store:
        page = bot_page(store, "minimax")
    more = tuple(replace(each, **other) for each in page.opponents) if other else ()
    texts = [row.text for row in bot_rows(replace(page, opponents=page.opponents + more), 77)]
    start = texts.index("against each opponent") + 1
    head, *rows = texts[start : texts.index("", start)]
    assert len(set(rows)) == len(rows) == len(page.opponents) + len(more)
    assert [name for name in ("game", "pool") if name in head.split()] == [column] * bool(column)
    assert max(map(len, rows)) <= 77


def test_next_moves_are_played_through_from_a_replay(shown_store: Path) -> None:
    app = replay_app(str(shown_store), 3, glyphs="ascii", reduce_motion=True)

    async def act(pilot: Pilot[None]) -> None:
        await press(pilot, "home", "right", "o")
        screen = app.screen
        assert isinstance(screen, OpeningsScreen)
        table, board = screen.query_one(NextMoves), screen.query_one(LargeBoard)
        with Store.open(shown_store, read_only=True) as store:
            view = find_openings(store, Condition(), screen.text_to_copy())
        assert [table.row(place)[0] for place in range(table.num_rows)] == list(view.rows)
        assert board.match is not None
        assert board.match.ply == 1
        action = table.row(0)[0].action
        await press(pilot, "enter")
        assert board.match == position("tic-tac-toe", (*view.actions, action))
        await press(pilot, "left", "right", "right")
        assert board.match is not None
        assert board.match.ply == 3
        await press(pilot, "g")
        assert screen.text_to_copy() == ""
        assert clashes(screen) == {}
        await press(pilot, "slash", *"bot:random", "enter")
        assert "filter bot:random" in table.title
        rows = [table.row(place)[0] for place in range(table.num_rows)]
        await press(pilot, "escape")
        assert [table.row(place)[0] for place in range(table.num_rows)] != rows
        await press(pilot, "escape")
        assert isinstance(app.screen, ReplayScreen)

    piloted(app, act)


def test_a_line_that_leaves_the_match_is_told(shown_store: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await push(pilot, OpeningsScreen("tic-tac-toe", (0, 1, 2), 0))
        await press(pilot, "right", "right", "right", "right")
        assert isinstance(app.screen, OpeningsScreen)
        assert app.screen.text_to_copy() == "a3 b3 c3"
        await push(pilot, OpeningsScreen("tic-tac-toe", (0, 1, 2, 3, 4, 5, 6), 7))
        assert "no stored match continues" in "\n".join(screen_lines(app))

    shown(shown_store, act)


def test_the_rating_of_a_bot_over_versions_and_over_time(shown_store: Path) -> None:
    with Store.open(shown_store, read_only=True) as store:
        page = bot_page(store, "minimax")
    where, rows = version_ratings_of(page)
    assert where == f"{page.versions[0].game}, {page.versions[0].pool}"
    assert {row.name: (row.elo, row.error) for row in rows} == {
        each.name: (each.elo, each.error) for each in page.versions
    }
    unit, lines = curves_of(page)
    assert unit == "min", "they were played within two hours"
    began = min(point.ended_at for entry in page.tournaments for point in entry.curve)
    kept = {
        (entry.name, (point.ended_at - began) / 60, point.elo)
        for entry in page.tournaments
        for point in entry.curve
    }
    assert {(line.name, point.x, point.y) for line in lines for point in line.points} == kept
    assert all(list(line.points) == sorted(line.points, key=lambda point: point.x) for line in lines)

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await push(pilot, BotPageScreen("minimax"))
        assert "Elo over time" not in "\n".join(screen_lines(app))
        await press(pilot, "c")
        text = "\n".join(screen_lines(app))
        assert f"Elo over versions: {where}" in text
        assert "Elo over time" in text
        assert any(f"{row.elo:.0f}" in text for row in rows)
        await press(pilot, "escape")
        assert isinstance(app.screen, BotPageScreen), "the first escape shows the rows again"
        assert app.screen.focused is app.screen.panel

    shown(shown_store, act)


def test_time_has_the_unit_of_its_span(shown_store: Path) -> None:
    with Store.open(shown_store, read_only=True) as store:
        page = bot_page(store, "minimax")
    entry, point = page.tournaments[0], page.tournaments[0].curve[0]
    for span, unit in ((3 * 86400.0, "days"), (3 * 3600.0, "hours"), (60.0, "min")):
        curve = (point, replace(point, ended_at=point.ended_at + span))
        found = curves_of(replace(page, tournaments=(replace(entry, curve=curve),)))
        seconds = {"days": 86400, "hours": 3600, "min": 60}[unit]
        assert found[0] == unit
        assert [point.x for point in found[1][0].points] == [0, span / seconds]
    assert curves_of(replace(page, tournaments=(replace(entry, curve=()),))) == ("", [])
    assert version_ratings_of(replace(page, versions=())) == ("", [])


def test_the_solver_stands_beside_the_next_moves(shown_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena.tui.shell.child.PROGRAM", (sys.executable, "-P", "-m", "arena"))
    expected = {best.move: best for best in solve_moves("tic-tac-toe", "b2", lambda _: None)}

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        screen = OpeningsScreen("tic-tac-toe", (4,), 1)
        await push(pilot, screen)
        rows = screen.query_one(NextMoves)
        shown_rows = [rows.row(place) for place in range(rows.num_rows)]
        assert {row.move: (row.perfect, row.plies) for row, _ in shown_rows} == {
            row.move: (expected[row.move].perfect, expected[row.move].plies) for row, _ in shown_rows
        }
        said = next(row.verdict for row, _ in shown_rows)
        assert said in "\n".join(screen_lines(app))
        app.is_read_only = True
        looked_at = OpeningsScreen("tic-tac-toe", (4,), 1)
        await push(pilot, looked_at)
        assert said not in "\n".join(screen_lines(app)), "nothing is run by who only looks"
        await press(pilot, "v")
        assert said in "\n".join(screen_lines(app)), "but where it is asked for"

    shown(shown_store, act, (120, 40))


def test_a_solver_ends_with_its_position(shown_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A process that prints one line and never ends.
    says = 'import time; print(\'{"move": "a3", "action": 0, "perfect": 1, "plies": 9}\', flush=True)'
    endless = (sys.executable, "-S", "-c", f"{says}\nwhile True: time.sleep(60)")
    monkeypatch.setattr("arena.tui.shell.child.PROGRAM", endless)

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        screen = OpeningsScreen("tic-tac-toe", (4, 0), 1)
        await app.push_screen(screen)
        children: list[ChildProcess] = []

        async def next_child() -> None:
            while screen._solving is None or screen._solving in children:  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] # its process is what this is about
                await pilot.pause(0.02)
            children.append(screen._solving)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] # as above

        await next_child()
        await pilot.press("right")
        await next_child()
        assert screen.text_to_copy() == "b2 a3"
        await pilot.press("v")
        await settle(pilot)
        assert [child.status is not None for child in children] == [True, True], "v ends it"
        await pilot.press("v")
        await next_child()
        await pilot.press("escape")
        # The worker that follows the last process ends with the screen, so that settle() does not wait for
        # it.
        ends_at = time.monotonic() + DEADLINE_S
        while not all(child.status is not None for child in children):
            assert time.monotonic() < ends_at, "so does leaving the screen"
            await pilot.pause(0.02)

    shown(shown_store, act, (120, 40))


def test_who_has_not_played_has_a_page_that_says_so(shown_store: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await push(pilot, BotPageScreen("nobody"))
        assert 'no stored bot "nobody"' in "\n".join(screen_lines(app))
        await press(pilot, "w", "n", "enter", "y")
        await push(pilot, VersusScreen("nobody", "random"))
        assert 'no stored bot "nobody"' in "\n".join(screen_lines(app))

    shown(shown_store, act)


def test_nobody_waits_for_a_cancelled_page(shown_store: Path) -> None:
    query = Query(str(shown_store))
    query.cancel()
    for source in (
        lambda: read_bot(query, "random"),
        lambda: read_versus(query, "random", "minimax"),
        lambda: read_openings(query, "tic-tac-toe", ""),
    ):
        with pytest.raises(Cancelled):
            source()


def test_the_pages_look_as_they_did(shown_store: Path, request: pytest.FixtureRequest) -> None:
    pictures: list[str] = []

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        for screen in (
            BotPageScreen("random"),
            VersusScreen("minimax:depth=2", "random", "spring"),
            OpeningsScreen("tic-tac-toe", (4, 0), 1),
        ):
            await push(pilot, screen)
            pictures.extend(line.rstrip() for line in screen_lines(app))

    shown(shown_store, act)
    found = "\n".join(pictures) + "\n"
    if request.config.getoption("--update-golden"):
        GOLDEN.write_text(found, encoding="utf-8")
        pytest.fail(f"{GOLDEN.name} is written anew; look at its difference")
    assert found == GOLDEN.read_text(encoding="utf-8")

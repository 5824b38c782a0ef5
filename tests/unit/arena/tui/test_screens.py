"""The screens over a store of real matches: their content and all their keys."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest

from arena.tui.screens.dashboard import Dashboard, StartPoint
from arena.tui.screens.live_panels import WallPanel
from arena.tui.screens.live_screen import LiveScreen
from arena.tui.screens.matches_screen import MatchesScreen
from arena.tui.screens.matrix_screen import MatrixScreen
from arena.tui.screens.page_screens import VersusScreen
from arena.tui.screens.replay_screen import NARROWED, ReplayScreen
from arena.tui.screens.standings_screen import StandingsScreen
from arena.tui.shell.keys import clashes
from arena.tui.start import SCREENS, replay_app
from arena.tui.widgets.match_list import MatchList
from arena.tui.widgets.small_board import SmallBoard
from arena.watching.feed import FeedUpdate
from arena.watching.store_feed import StoreFeed
from dashboard import piloted, screen_lines, settle

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from textual.pilot import Pilot

_Result = TypeVar("_Result")
GOLDEN = Path(__file__).parent / "golden" / "screens-80x24.txt"


class Brief(StoreFeed):
    """A feed that ends as soon as there is nothing new."""

    def poll(self) -> FeedUpdate | None:
        """Return the next batch; end at the first poll without news."""
        batch = super().poll()
        return FeedUpdate(is_last=True) if batch is None else batch


def watch(path: Path) -> Dashboard:
    feed = Brief(str(path), 1)
    return Dashboard(
        feed,
        SCREENS,
        store=str(path),
        at=StartPoint("spring"),
        glyphs="ascii",
        clock=lambda: 1e9,
        reduce_motion=True,
    )


def seen(app: Dashboard) -> str:
    return "\n".join(screen_lines(app))


def shown(
    path: Path,
    act: Callable[[Pilot[None], Dashboard], Awaitable[_Result]],
    size: tuple[int, int] = (80, 24),
) -> _Result:
    app = watch(path)
    return piloted(app, lambda pilot: act(pilot, app), size)


async def press(pilot: Pilot[None], *keys: str) -> None:
    await pilot.press(*keys)
    await settle(pilot)


def test_live_shows_boards_standings_progress_and_results(shown_store: Path) -> None:
    async def look(_: Pilot[None], app: Dashboard) -> None:
        text = seen(app)
        for fact in ("ENDED o spring", "tic-tac-toe", "STANDINGS spring", "PROGRESS   24/24   100%", "/24 "):
            assert fact in text
        assert "page 1/1   sort: place   evals: on" in text
        assert sum(board.match is not None for board in app.screen.query(SmallBoard)) == 6

    shown(shown_store, look)


def test_keys_of_live(shown_store: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        wall = app.screen.query_one(WallPanel)
        await press(pilot, "s")
        assert wall.sort == "activity"
        await press(pilot, "e")
        assert "evals: off" in seen(app)
        await press(pilot, "f")
        assert "follow: on" in seen(app)
        await press(pilot, "f", "plus", "plus")
        assert wall.shown.num_pages > 1
        await press(pilot, "right_square_bracket")
        assert wall.shown.page == 1
        await press(pilot, "left_square_bracket", "minus", "minus")
        assert (wall.shown.page, wall.shown.num_pages) == (0, 1)
        await press(pilot, "y")
        assert app.clipboard.startswith("spring/")

    shown(shown_store, act)


def test_the_wall_can_be_filtered(shown_store: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "slash", *"bot:random", "enter")
        wall = app.screen.query_one(WallPanel)
        named = [{seat.name for seat in board.seats} for board in wall.shown.boards]
        assert 0 < len(named) < 6
        assert all("random" in names for names in named)
        await press(pilot, "slash", *" nonsense", "enter")
        assert 'no filter "nonsense"' in seen(app)

    shown(shown_store, act)


def test_a_board_that_is_over_opens_its_replay(shown_store: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "enter")
        assert isinstance(app.screen, ReplayScreen)
        assert "REPLAY  spring/24" in seen(app)
        await press(pilot, "escape")
        assert isinstance(app.screen, LiveScreen)

    shown(shown_store, act)


def test_a_wide_terminal_shows_focus_plot_matrix_and_events(shown_store: Path) -> None:
    async def look(pilot: Pilot[None], app: Dashboard) -> None:
        text = seen(app)
        for fact in (
            "focus spring/",
            "ratings (Elo, 95 %)",
            "matrix  (row score %",
            "+- events",
            "(rules, ply",
        ):
            assert fact in text
        await pilot.resize_terminal(80, 24)
        await settle(pilot)
        assert "focus spring/" not in seen(app)

    shown(shown_store, look, (120, 40))


def test_standings_and_leaderboards(shown_store: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "2")
        assert isinstance(app.screen, StandingsScreen)
        text = seen(app)
        for fact in ("standings spring", "W-D-L", "faults", "Elo", " to "):
            assert fact in text
        await press(pilot, "down", "y")
        assert app.clipboard in ("random", "minimax:depth=1", "minimax:depth=2", "mcts:playouts=20")
        await press(pilot, "a")
        assert "standings leaderboard tic-tac-toe" in seen(app)
        await press(pilot, "g")
        assert "standings leaderboard tic-tac-toe" in seen(app), "there is only one game"
        await press(pilot, "enter")
        assert isinstance(app.screen, MatchesScreen)
        words = app.screen.filter_text.split(" ", 1)
        assert words[0].startswith("bot:")
        assert words[1] == "game:tic-tac-toe pool:'5/move in-process'", "matches of that leaderboard alone"
        assert app.screen.query_one(MatchList).total >= 12
        await press(pilot, "escape", "2", "a", "enter")
        assert isinstance(app.screen, MatchesScreen)
        assert app.screen.filter_text.startswith("tournament:spring bot:")
        assert app.screen.query_one(MatchList).total == 12

    shown(shown_store, act)


def test_ratings_over_matches_are_those_of_the_tournament_alone(shown_store: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "2")
        assert "rating over matches" in seen(app)
        assert "nothing to show yet" not in seen(app)
        await press(pilot, "a")
        assert "standings leaderboard tic-tac-toe" in seen(app)
        assert "nothing to show yet" in seen(app)
        await press(pilot, "a")
        assert "nothing to show yet" not in seen(app)

    shown(shown_store, act, size=(100, 60))


def test_matches_are_listed_filtered_sorted_and_split(shown_store: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "3")
        matches = app.screen.query_one(MatchList)
        assert matches.total == 26
        assert "duel/2" in seen(app)
        await press(pilot, "slash", *"bot:mcts* vs:random", "enter")
        assert matches.total == 4
        assert "4   filter bot:mcts* vs:random" in seen(app)
        await press(pilot, "slash", *" colour:red", "enter")
        assert 'no filter "colour"' in seen(app)
        await press(pilot, "escape")
        assert matches.total == 26
        await press(pilot, "s", "s", "S")
        rows = [matches.row(index) for index in range(26)]
        plies = [row.plies for row in rows if row is not None]
        assert plies == sorted(plies)
        await press(pilot, "o", "down")
        assert " end: " in seen(app)

    shown(shown_store, act)


def test_a_match_of_the_list_is_replayed_and_the_next_one(shown_store: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "3", "enter")
        assert "REPLAY  duel/2" in seen(app)
        await press(pilot, "right_square_bracket")
        assert "REPLAY  duel/1" in seen(app), "the next one of the list, newest first"
        await press(pilot, "left_square_bracket", "left_square_bracket")
        assert "REPLAY  duel/2" in seen(app)
        assert "the list ends here" in seen(app)

    shown(shown_store, act)


def test_matrix_cells_are_described_and_open_their_matches(shown_store: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "4", "right")
        assert isinstance(app.screen, MatrixScreen)
        text = seen(app)
        assert "moving first" in text
        assert "+/-" in text
        await press(pilot, "y")
        assert " v " in app.clipboard
        await press(pilot, "c")
        assert "row W-D-L" in seen(app)
        await press(pilot, "enter")
        assert isinstance(app.screen, VersusScreen)
        await press(pilot, "escape", "o")
        assert isinstance(app.screen, MatchesScreen)
        assert app.screen.query_one(MatchList).total == 4

    shown(shown_store, act)


def test_every_key_of_a_replay(shown_store: Path) -> None:
    app = replay_app(str(shown_store), 3, glyphs="ascii", reduce_motion=True)

    async def act(pilot: Pilot[None]) -> None:
        screen = app.screen
        assert isinstance(screen, ReplayScreen)
        start = screen.ply
        await press(pilot, "right", "l")
        assert screen.ply == start + 2
        await press(pilot, "left", "h", "home")
        assert screen.ply == 0
        await press(pilot, "G")
        last = screen.ply
        assert "1-0 " in seen(app) or "0-1 " in seen(app) or "1/2 " in seen(app)
        await press(pilot, "home", "b")
        assert 0 < screen.ply <= last
        await press(pilot, "end", "B", "plus", "minus", "x", "j", "k", "home")
        await press(pilot, "space")
        assert "space pause" in seen(app)
        screen.run_on()
        await press(pilot, "space", "Y")
        assert "space run" in seen(app)
        assert len(app.clipboard.split()) == last
        await press(pilot, "y")
        assert app.clipboard == f"spring/3:{screen.ply}"
        await press(pilot, "right_square_bracket")
        assert "REPLAY  spring/4" in seen(app)
        await press(pilot, "left_square_bracket", "left_square_bracket")
        assert "REPLAY  spring/2" in seen(app)

    piloted(app, act)


def test_a_replay_ends_at_its_last_ply(shown_store: Path) -> None:
    app = replay_app(str(shown_store), 3, glyphs="ascii", reduce_motion=True)

    async def act(pilot: Pilot[None]) -> None:
        screen = app.screen
        assert isinstance(screen, ReplayScreen)
        await press(pilot, "end", "space")
        assert screen.ply == 0, "from the end it starts anew"
        for _ in range(9):
            screen.run_on()
        await settle(pilot)
        assert "space run" in seen(app)

    piloted(app, act)


@pytest.mark.parametrize("number", [0, 999, 1 << 70])
def test_a_match_that_is_not_there_is_told(shown_store: Path, number: int) -> None:
    app = replay_app(str(shown_store), number or -1, glyphs="ascii", reduce_motion=True)

    async def act(_: Pilot[None]) -> None:
        assert "no match" in seen(app)

    piloted(app, act)


def test_no_key_is_bound_twice_on_any_screen(shown_store: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        for key in "1234":
            await press(pilot, key)
            assert clashes(app.screen) == {}, key
        await press(pilot, "3", "enter")
        assert isinstance(app.screen, ReplayScreen)
        assert clashes(app.screen, narrowed=NARROWED) == {}
        assert set(clashes(app.screen)) == {"space", "p"}

    shown(shown_store, act)


@pytest.mark.parametrize("size", [(40, 12), (60, 20), (125, 41)])
def test_every_screen_fits_every_size(shown_store: Path, size: tuple[int, int]) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        for key in "1234":
            await press(pilot, key)
            assert len(screen_lines(app)) == size[1]
            assert any(line.strip() for line in screen_lines(app))

    shown(shown_store, act, size)


def test_the_screens_look_as_they_did(shown_store: Path, request: pytest.FixtureRequest) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> list[str]:
        pictures: list[str] = []
        for key in "1234":
            await press(pilot, key)
            # The number of live events depends on how fast the match was played.
            pictures += [re.sub(r"seq \d+", "seq 0", line).rstrip() for line in screen_lines(app)]
        return pictures

    found = "\n".join(shown(shown_store, act)) + "\n"
    if request.config.getoption("--update-golden"):
        GOLDEN.write_text(found, encoding="utf-8")
        pytest.fail(f"{GOLDEN.name} is written anew; look at its difference")
    assert found == GOLDEN.read_text(encoding="utf-8")


def test_no_fact_needs_colour(shown_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        for key, facts in (
            ("1", ("O wins", "[1 Live]", "#=>", "[ 0-1 rules ]")),
            ("2", ("[2 Standings]", "#=>standings", "W-D-L")),
            ("3", ("[3 Matches]", ">duel/2 ", "1-0")),
            ("4", ("[4 Matrix]", "#=>matrix", "score %")),
        ):
            await press(pilot, key)
            text = seen(app)
            for fact in facts:
                assert fact in text, (key, fact)
        styles = [s.style for strip in app.screen._compositor.render_strips(app.size) for s in strip]  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] # what a terminal would show
        colours = {
            c.triplet for style in styles if style for c in (style.color, style.bgcolor) if c and c.triplet
        }
        assert all(c.red == c.green == c.blue for c in colours), "only greys"

    shown(shown_store, act)

"""A resize leads to exactly one full paint of the screen, whatever else changes."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest.mock import patch

from textual.events import Resize
from textual.geometry import Size

from arena.tui.widgets.small_board import SmallBoard
from arena.tui.widgets.standings_table import StandingsTable
from dashboard import matrix, piloted, running_dashboard, screen_lines, settle, standings
from watching import press

if TYPE_CHECKING:
    from pathlib import Path

    from textual.pilot import Pilot

    from arena.tui.screens.dashboard import Dashboard


async def _painted(pilot: Pilot[None], app: Dashboard) -> None:
    """Wait until the data of a recorded feed is shown."""
    await settle(pilot)
    app.paint(everything=True)
    await pilot.pause()


def test_sixty_resizes_lead_to_one_full_paint_and_the_focus_stays(tmp_path: Path) -> None:
    app = running_dashboard(tmp_path, {"standings": standings(), "matrix": matrix()}, glyphs="ascii")

    async def act(pilot: Pilot[None]) -> None:
        await _painted(pilot, app)
        await press(pilot, "tab")
        focused = app.screen.focused
        assert focused is not None
        board = next(iter(app.screen.query(SmallBoard)))
        compositor = app.screen._compositor  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] # what a terminal would get
        driver = app._driver  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] # where a terminal's sizes come in
        assert driver is not None
        with (
            patch.object(board, "draw", wraps=board.draw) as draw,
            patch.object(compositor, "render_full_update", wraps=compositor.render_full_update) as paint,
        ):
            # Each final size has other style classes and another layout than the size before.
            for end in ((100, 30), (200, 60), (125, 41), (80, 24)):
                draw.reset_mock()
                paint.reset_mock()
                before = board.size
                for width, height in [(80 + step % 60, 24 + step % 30) for step in range(59)] + [end]:
                    driver._size = (width, height)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] # as its own resize does
                    app.post_message(Resize(Size(width, height), Size(width, height)))
                await settle(pilot)
                await pilot.pause(0.05)
                assert app.screen.size == end
                assert paint.call_count == 1, end
                drawn = [call.args for call in draw.call_args_list if call.args != tuple(before)]
                assert drawn == [tuple(board.size)] * (board.size != before), end
                assert app.screen.focused is focused

    piloted(app, act)


def test_a_resize_that_hides_the_focus_leads_to_one_full_paint(tmp_path: Path) -> None:
    app = running_dashboard(tmp_path, {"standings": standings(), "matrix": matrix()}, glyphs="ascii")

    async def act(pilot: Pilot[None]) -> None:
        await _painted(pilot, app)
        compositor = app.screen._compositor  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] # what a terminal would get
        for end in ((60, 20), (50, 15)):
            await pilot.resize_terminal(200, 60)
            await settle(pilot)
            app.screen.query_one(StandingsTable).focus()
            await settle(pilot)
            with patch.object(compositor, "render_full_update", wraps=compositor.render_full_update) as paint:
                await pilot.resize_terminal(*end)
                await settle(pilot)
                await pilot.pause(0.05)
            assert app.screen.size == end
            assert isinstance(app.screen.focused, SmallBoard), "the table is not shown any more"
            assert app.screen.focused.has_focus
            assert "#=>" in "\n".join(screen_lines(app)) or end == (50, 15), (
                "the frame tells where the focus is"
            )
            assert paint.call_count == 1, end

    piloted(app, act)

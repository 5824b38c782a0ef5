"""Plays matches of a person on their screen, in a simulated terminal."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from arena.tui.screens.dashboard import Dashboard, StartPoint
from arena.tui.screens.play_screen import PlayScreen
from arena.tui.start import ALL_SCREENS
from arena.tui.widgets.play_board import PlayBoard
from dashboard import screen_lines
from plays import DEADLINE_S, LocalLink, config

if TYPE_CHECKING:
    import threading
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from textual.pilot import Pilot

    from arena.person.session_config import PlayConfig

_Result = TypeVar("_Result")
FOUR = config(game="connect-four")


class Board:
    """A match on its screen, driven by a pilot."""

    def __init__(self, pilot: Pilot[None], app: Dashboard, link: LocalLink) -> None:
        self.pilot = pilot
        self.app = app
        self.link = link

    @property
    def screen(self) -> PlayScreen:
        """The screen of the match."""
        (screen,) = [screen for screen in self.app.screen_stack if isinstance(screen, PlayScreen)]
        return screen

    @property
    def widget(self) -> PlayBoard:
        """The board on the screen."""
        return self.screen.query_one(PlayBoard)

    def text(self) -> str:
        """The text on the screen."""
        return "\n".join(screen_lines(self.app))

    async def until(self, condition: Callable[[], object]) -> None:
        """Run the app until a condition holds."""
        end = asyncio.get_running_loop().time() + DEADLINE_S
        while not condition():
            assert asyncio.get_running_loop().time() < end, self.text()
            await self.pilot.pause(0.01)
        await self.pilot.pause()

    async def turn(self, number: int = 1, ply: int = 0) -> None:
        """Wait for the person's turn in a position."""
        await self.until(lambda: self.at(number, ply) and self.screen.seen.can_move)

    def at(self, number: int, ply: int) -> bool:
        """Return whether this position is shown."""
        match = self.screen.seen.match
        return match is not None and (match.number, match.ply) == (number, ply)

    def place(self, column: int, row: int = 0) -> tuple[int, int]:
        """Return where on the board, counted from its corner, a cell is drawn with its grid."""
        return 6 + 4 * column, 4 + row

    async def press(self, *keys: str) -> None:
        """Press keys."""
        await self.pilot.press(*keys)
        await self.pilot.pause()


def played(  # noqa: PLR0913 # parameters of a play and of its screen
    path: Path,
    act: Callable[[Board], Awaitable[_Result]],
    settings: PlayConfig = FOUR,
    size: tuple[int, int] = (80, 24),
    gate: threading.Event | None = None,
    *,
    among_others: bool = False,
) -> _Result:
    """Start a match on a screen, alone or above those of the dashboard, act on it, and leave."""
    link = LocalLink(path / "a.db", settings, gate)
    app = Dashboard(
        None,
        ALL_SCREENS if among_others else [PlayScreen],
        store=str(path / "a.db"),
        at=StartPoint(play=link),
        glyphs="ascii",
        reduce_motion=True,
    )

    async def run() -> _Result:
        async with app.run_test(size=size, notifications=True) as pilot:
            if among_others:
                await app.push_screen(PlayScreen(link))
            board = Board(pilot, app, link)
            if gate is None:
                await board.turn(1, len(settings.opening) + (settings.side == "second"))
            return await act(board)

    try:
        return asyncio.run(run())
    finally:
        link.close()

"""Runs the whole dashboard over an existing store until all stored events have been shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from arena.tui.screens.dashboard import Dashboard, StartPoint
from arena.tui.start import ALL_SCREENS
from arena.watching.feed import FeedUpdate
from arena.watching.store_feed import StoreFeed
from dashboard import piloted, screen_lines, settle

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from textual.pilot import Pilot

_Result = TypeVar("_Result")


class Brief(StoreFeed):
    """Follows a store until everything stored now has been read."""

    def poll(self) -> FeedUpdate | None:
        """Return the next batch; the first empty one is the last."""
        batch = super().poll()
        return FeedUpdate(is_last=True) if batch is None else batch


def watch(path: Path, *, is_read_only: bool = False, ascii_only: bool = True) -> Dashboard:
    """Return the dashboard of `spring`, the first tournament of a store."""
    return Dashboard(
        Brief(str(path), 1),
        ALL_SCREENS,
        store=str(path),
        at=StartPoint("spring"),
        is_read_only=is_read_only,
        glyphs="ascii" if ascii_only else "unicode",
        clock=lambda: 1_763_746_000.0,
        reduce_motion=True,
    )


def seen(app: Dashboard) -> str:
    """Return everything that is shown, as text."""
    return "\n".join(screen_lines(app))


async def press(pilot: Pilot[None], *keys: str) -> None:
    """Press keys one by one, and wait for the effect of each."""
    for key in keys:
        await pilot.press(key)
        await settle(pilot)
    # The effect may have caused another read.
    await settle(pilot)


def shown(
    app: Dashboard,
    act: Callable[[Pilot[None], Dashboard], Awaitable[_Result]],
    size: tuple[int, int] = (80, 24),
) -> _Result:
    """Run the dashboard in a terminal of `size`, and `act` on it."""
    return piloted(app, lambda pilot: act(pilot, app), size)

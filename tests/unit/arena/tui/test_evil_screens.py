"""On the screens, names with control sequences or markup change only the text that is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arena.tui.screens.dashboard import Dashboard, StartPoint
from arena.tui.screens.replay_screen import ReplayScreen
from arena.tui.start import SCREENS
from arena.watching.feed import FeedUpdate
from arena.watching.store_feed import StoreFeed
from arena_db.store import Store
from dashboard import piloted, screen_lines, settle
from live_samples import EVIL
from stores import add_cup

if TYPE_CHECKING:
    from pathlib import Path

    from textual.pilot import Pilot

NAMES = tuple(name for name in EVIL if 0 < len(name) <= 64 and "\x00" not in name)


class Brief(StoreFeed):
    """A feed that ends as soon as there is nothing new."""

    def poll(self) -> FeedUpdate | None:
        """Return the next batch."""
        batch = super().poll()
        return FeedUpdate(is_last=True) if batch is None else batch


@pytest.fixture(scope="module")
def evil_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("evil") / "arena.db"
    with Store.open(path) as store:
        cup = add_cup(store, *NAMES, num=3 * len(NAMES), name="[red]cup")
        store.matches.save([cup.match(number, reason=NAMES[number % len(NAMES)]) for number in range(1, 20)])
    return path


def test_evil_names_are_only_text(evil_store: Path) -> None:
    app = Dashboard(
        Brief(str(evil_store), 1), SCREENS, store=str(evil_store), at=StartPoint("[red]cup"), glyphs="ascii"
    )

    async def act(pilot: Pilot[None]) -> None:
        for keys in ("1", "2", "2enter", "3o", "3enter", "4right", "4enter"):
            await pilot.press(keys[0])
            await settle(pilot)
            if keys[1:]:
                await pilot.press(keys[1:])
                await settle(pilot)
            text = "".join(screen_lines(app))
            assert text.isprintable()
            assert "\u202e" not in text
            if isinstance(app.screen, ReplayScreen):
                await pilot.press("end", "escape")

    piloted(app, act, (120, 40))

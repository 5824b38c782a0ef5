"""Draws the pictures of the dashboard in docs/images, one SVG per screen, from the running program.

    .venv/bin/python tests/support/dashboard_pictures.py [NAME...]

It plays a small tournament and a knockout in a folder of its own, opens the dashboard on them, and goes
through the screens. With names, such as `live` or `live-80`, it draws only these pictures.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from command_line import CommandLine
from pictures import picture_of
from source_tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.pilot import Pilot

    from arena.tui.screens.dashboard import Dashboard

IMAGES: Final = ROOT / "docs" / "images"
SIZES: Final = {"": (120, 40), "-80": (80, 24), "-200": (200, 60)}
"""Terminal sizes by suffix of the picture's name; all screens are drawn at the first size."""
SMALL: Final = frozenset(
    {"live", "standings", "matches", "replay", "openings", "matrix", "versus", "bot", "bracket", "places"}
)
"""Screens also drawn in the smallest terminal that shows all facts of a screen."""
LARGE: Final = frozenset({"matches", "replay", "openings", "bot", "bracket"})
"""Screens also drawn at a size at which boards, events and columns grow."""
MAX_BYTES: Final = 150_000
BOTS: Final = ("mcts:playouts=400", "minimax:depth=4", "mcts:playouts=40", "minimax:depth=1", "random")
GAME: Final = (
    "--game",
    "connect-four",
    "--isolation",
    "none",
    "--require-tier",
    "T0",
    "--executor",
    "inline",
)
RUNS: Final = ROOT / "tests" / "unit" / "arena" / "live" / "recorded_runs"
SCREENS: Final = (
    ("live", ("1",)),
    ("standings", ("2",)),
    ("matches", ("3", "o", "down")),
    ("replay", ("3", "enter", "g", "home", "b", "left")),
    ("openings", ("3", "enter", "home", "right", "o")),
    ("matrix", ("4", "right")),
    ("versus", ("4", "right", "enter")),
    ("bots", ("5", "down", "down", "down")),
    ("bot", ("5", *("down",) * 6, "enter")),
    ("train", ("6",)),
    ("tournaments", ("7",)),
    ("new-tournament", ("7", "n")),
    ("export", ("8",)),
    ("play", ("1", "p")),
)
"""Name of the picture, and the keys that lead to it; the replay is judged and shows its first mistake."""
CUP: Final = (("bracket", ("4", "home")),)
"""Pictures of the knockout, and the keys that lead to them."""
SWISS: Final = (("places", ("2",)),)
"""Pictures of the Swiss tournament, and the keys that lead to them."""


def main() -> None:
    """Write all pictures."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        arena = CommandLine(folder)
        os.environ.update(ARENA_HOME=str(folder / "home"), ARENA_DB=str(arena.db), TERM="xterm-256color")
        os.environ.pop("NO_COLOR", None)
        shutil.copytree(RUNS, folder / "home" / "runs")
        arena("tournament", *BOTS, *GAME, "--rounds", 4, "--srand", 1, "--name", "spring", "--quiet")
        arena("tournament", *BOTS[3:], *GAME, "--rounds", 1, "--srand", 2, "--name", "summer", "--quiet")
        wanted = set(sys.argv[1:])
        knockout = ("--type", "knockout", "--double", "--pairs", 1, "--srand", 3)
        swiss = ("--type", "swiss", "--rounds", 3, "--pairs", 1, "--srand", 4)
        for event, screens, options in (
            ("spring", SCREENS, ()),
            ("cup", CUP, knockout),
            ("open", SWISS, swiss),
        ):
            drawn = {
                end: [screen for screen in screens if not wanted or f"{screen[0]}{end}" in wanted]
                for end in SIZES
            }
            drawn["-80"] = [screen for screen in drawn["-80"] if screen[0] in SMALL]
            drawn["-200"] = [screen for screen in drawn["-200"] if screen[0] in LARGE]
            if options and any(drawn.values()):
                arena("tournament", *BOTS, *GAME, *options, "--name", event, "--quiet")
            for end, shown in drawn.items():
                if shown:
                    asyncio.run(_draw(arena.db, event, shown, end))


async def _draw(store: Path, event: str, screens: Sequence[tuple[str, tuple[str, ...]]], end: str) -> None:
    from arena.results.addresses import find_address
    from arena.tui.start import watch_app
    from arena_db.store import Store

    with Store.open(store) as opened:
        address = find_address(opened, event)
    app = watch_app(str(store), address, glyphs="unicode", reduce_motion=True)
    async with app.run_test(size=SIZES[end]) as pilot:
        await _settle(app, pilot)
        for name, keys in screens:
            for key in keys:
                await pilot.press(key)
                await _settle(app, pilot)
            if name == "new-tournament":
                await pilot.press(*"mcts:playouts=400 minimax:depth=4 random", "tab")
                await _settle(app, pilot)
            if name == "play":
                await _play(app, pilot)
            _write(f"{name}{end}", app)
            # Leaving a match asks first; so this is the last picture, and the dashboard ends with it.
            while len(app.screen_stack) > 2 and name != "play":
                await pilot.press("escape")
                await _settle(app, pilot)


async def _play(app: Dashboard, pilot: Pilot[None]) -> None:
    """Play some moves against a bot, starting from the form."""
    from arena.tui.screens.play_screen import PlayScreen
    from arena.tui.widgets.form import FormField

    app.screen.query_one("#field-bot", FormField).value = "mcts:playouts=400"
    app.screen.query_one("#push-play").focus()
    await pilot.press("enter")
    for key in ("4", "4", "3", "right"):
        while not (isinstance(app.screen, PlayScreen) and app.screen.seen.can_move):
            await pilot.pause(0.1)
        await pilot.press(key)
        await pilot.pause(0.3)
    await pilot.pause(0.5)


async def _settle(app: Dashboard, pilot: Pilot[None]) -> None:
    """Wait until every worker except the feed, which never ends, has delivered its result."""
    for _ in range(2):
        if others := [worker for worker in app.workers if worker.group != "feed"]:
            await app.workers.wait_for_complete(others)  # pyright: ignore[reportUnknownMemberType] # Textual leaves results of workers open
        await pilot.pause()
    while not app.model.facts.get("standings"):
        await pilot.pause(0.1)


def _write(name: str, app: Dashboard) -> None:
    content = picture_of(app, f"arena: {name}").encode()
    if len(content) > MAX_BYTES:
        sys.exit(f"{name}.svg has {len(content)} bytes, more than {MAX_BYTES}")
    (IMAGES / f"{name}.svg").write_bytes(content)
    print(f"{name}.svg {len(content) / 1000:.0f} kB")  # noqa: T201 # a program


if __name__ == "__main__":
    main()

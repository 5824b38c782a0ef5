"""Accessibility of the dashboard: colour, motion, keys and text, as far as no other test checks them."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, cast

import pytest
from rich.cells import cell_len

from arena.tui.glyphs import ASCII, UNICODE, Glyphs
from arena.tui.look import LookApp
from arena.tui.screens.live_panels import WallPanel
from arena.tui.widgets.line_input import LineInput
from dashboard import Host, piloted, settle
from watching import press, shown, watch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from textual.pilot import Pilot

    from arena.tui.screens.dashboard import Dashboard

BRAILLE = range(0x2800, 0x2900)


def _characters(value: object) -> Iterator[str]:
    """Yield the characters of a set of glyphs, including nested fields."""
    if isinstance(value, str):
        yield from value
    elif isinstance(value, Glyphs):
        for field in dataclasses.fields(value):
            if field.name != "name":
                yield from _characters(getattr(value, field.name))
    elif isinstance(value, tuple):
        for part in cast("tuple[object, ...]", value):
            yield from _characters(part)
    else:
        pytest.fail(f"{value!r} is neither text nor a tuple of texts")


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII], ids=lambda glyphs: glyphs.name)
def test_every_glyph_takes_one_cell_and_none_is_braille(glyphs: Glyphs) -> None:
    characters = set(_characters(glyphs))
    assert len(characters) > 10
    assert all(cell_len(character) == 1 for character in characters)
    assert not any(ord(character) in BRAILLE for character in characters)
    assert not glyphs.is_ascii or "".join(characters).isascii()


@pytest.mark.parametrize("reduced", [True, False])
def test_the_cursor_of_a_line_blinks_only_where_things_may_move(*, reduced: bool) -> None:
    class Lines(LookApp):
        def compose(self) -> Iterator[LineInput]:
            yield LineInput()

    app = Lines(reduce_motion=reduced)

    async def look(pilot: Pilot[None]) -> bool:
        await settle(pilot)
        return app.query_one(LineInput).cursor_blink

    assert piloted(app, look) is not reduced
    assert Host(LineInput()).reduce_motion


def test_nothing_is_said_by_a_tooltip_alone(shown_store: Path, runs: Path) -> None:
    assert runs.is_dir()

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        for keys in ("1", "2", "3", "4", "5", "6", "7", "n"):
            await press(pilot, keys)
            widgets = [*app.screen.walk_children()]
            assert len(widgets) > 5
            assert [getattr(widget, "tooltip", None) for widget in widgets] == [None] * len(widgets)

    shown(watch(shown_store), act)


def test_smaller_terminals_have_fewer_boards_and_the_focused_match_stays_in_view(shown_store: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        wall = app.screen.query_one(WallPanel)
        await press(pilot, *["right"] * 5)
        watched = wall.focused_match
        assert watched is not None
        for columns, lines, number in ((80, 24, 6), (50, 15, 2), (40, 12, 2), (60, 24, 6), (80, 24, 6)):
            await pilot.resize_terminal(columns, lines)
            await settle(pilot)
            await settle(pilot)
            assert len(wall.shown.boards) == number, (columns, lines)
            assert watched.number in [board.number for board in wall.shown.boards], (columns, lines)
            assert wall.focused_match is not None
            assert wall.focused_match.number == watched.number
            assert app.screen.focused is not None
            assert app.screen.focused.region.height > 0

    shown(watch(shown_store), act)

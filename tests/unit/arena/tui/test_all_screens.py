"""Checks of every screen: tabs, sizes, glyphs, hostile names, no colour, focus, help."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arena.tui.shell.confirm import ConfirmScreen
from arena.tui.shell.keys import clashes
from arena.tui.widgets.form import Push
from arena.tui.widgets.output_panel import OutputPanel
from arena_db.store import Store
from dashboard import screen_lines
from live_samples import EVIL
from stores import add_cup
from watching import press, seen, shown, watch

if TYPE_CHECKING:
    from pathlib import Path

    from textual.pilot import Pilot

    from arena.tui.screens.dashboard import Dashboard


KEYS = "5678"
SIZES = [
    (40, 12, True),
    (59, 15, False),
    (60, 20, True),
    (80, 24, False),
    (120, 40, True),
    (200, 50, False),
]
"""Columns, lines, and whether the glyphs are ASCII."""


def test_the_tab_row_has_all_eight_and_every_digit_works(shown_store: Path) -> None:
    names = ("Live", "Stand", "Matches", "Matrix", "Bots", "Train", "Tourneys", "Export")

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        for number, name in enumerate(names, start=1):
            await press(pilot, str(number))
            row = screen_lines(app)[1]
            assert f"[{number} {name}" in row
            assert all(f"{place} {other}" in row for place, other in enumerate(names, start=1))
            assert clashes(app.screen) == {}, name

    shown(watch(shown_store), act)


def test_nothing_is_started_where_one_only_looks(shown_store: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        for keys in ("5t", "7n", "7P", "7X", "7R"):
            await press(pilot, *keys)
            assert "read-only" in seen(app), keys
            assert app.screen.name in ("bots", "tournaments")
        await press(pilot, "8")
        app.screen.query_one("#push-export", Push).focus()
        await press(pilot, "enter")
        assert app.screen.query_one(OutputPanel).title == "newest of them"

    shown(watch(shown_store, is_read_only=True), act)


@pytest.mark.parametrize(("columns", "lines", "ascii_only"), SIZES)
def test_every_screen_fits_every_size(
    shown_store: Path, runs: Path, columns: int, lines: int, *, ascii_only: bool
) -> None:
    assert runs.is_dir()

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        for key in (*KEYS, "7n"):
            await press(pilot, *key)
            shown_lines = screen_lines(app)
            assert len(shown_lines) == lines
            assert all(line.isprintable() for line in shown_lines)
            assert not ascii_only or all(line.isascii() for line in shown_lines)
            assert "? Help" in shown_lines[-1]
            focused = app.screen.focused
            assert focused is not None
            assert focused.region.height > 0, "what has the focus can be seen"

    shown(watch(shown_store, ascii_only=ascii_only), act, (columns, lines))


def test_evil_names_are_only_text_here_too(tmp_path: Path, a_home_of_its_own: Path) -> None:
    names = [name for name in EVIL if 0 < len(name) <= 64 and "\x00" not in name]
    path = tmp_path / "evil.db"
    with Store.open(path) as store:
        for number, name in enumerate(names):
            cup = add_cup(store, *names, num=9, name=f"{name}-{number}")
            store.matches.save([cup.match(number, reason=name) for number in range(1, 4)])
    for number, name in enumerate(names):
        folder = a_home_of_its_own / "runs" / name.replace("/", "_")
        folder.mkdir(parents=True)
        line = (
            f'{{"step": {number}, "name": "{name.encode("unicode_escape").decode()}", "value": 1, "t": 1}}\n'
        )
        (folder / "metrics.jsonl").write_text(
            line * 2 + '{"step":1,"name":"score/[/]","value":3,"t":2}\n', "utf-8"
        )
        (folder / "train.log").write_text(name * 3, "utf-8")

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        for keys in ("5", "6", "6c", "6l", "7", "7R", "8", "E"):
            for key in keys:
                await press(pilot, key)
                lines = screen_lines(app)
                assert all(line.isprintable() for line in lines), keys
                assert "\u202e" not in "".join(lines)
            for _ in names:
                await press(pilot, "down")
                assert all(line.isprintable() for line in screen_lines(app)), keys
            if isinstance(app.screen, ConfirmScreen):
                await press(pilot, "n")

    shown(watch(path, ascii_only=False), act, (120, 40))


def test_no_fact_needs_colour(shown_store: Path, runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert runs.is_dir()

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        for keys, facts in (
            ("5", ("[5 Bots]", "#=>bots", "status: ...")),
            ("6", ("[6 Train]", "#=>runs", "#>  td-2", "+- loss")),
            ("7", ("[7 Tourneys]", "#=>tournaments", "#>spring", "finished")),
            ("n", (">bots", "[round-robin]", "[ Start ]", "! name the bots")),
            ("8", ("8 Export",)),
        ):
            await press(pilot, keys)
            text = seen(app)
            for fact in facts:
                assert fact in text, (keys, fact)
        styles = [s.style for strip in app.screen._compositor.render_strips(app.size) for s in strip]  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] # what a terminal would show
        colours = {
            c.triplet for style in styles if style for c in (style.color, style.bgcolor) if c and c.triplet
        }
        assert all(c.red == c.green == c.blue for c in colours), "only greys"

    shown(watch(shown_store), act)


def test_focus_goes_in_the_order_of_reading(shown_store: Path, runs: Path) -> None:
    assert runs.is_dir()

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        for keys in ("5", "6", "7", "8", "7n"):
            await press(pilot, *keys)
            chain = app.screen.focus_chain
            assert chain
            places = [
                (widget.region.y // 12 if keys == "6" else widget.region.y, widget.region.x)
                for widget in chain
            ]
            if keys in ("5", "8"):
                assert places == sorted(places), keys
            await press(pilot, "escape")

    shown(watch(shown_store), act, (80, 24))


def test_help_and_palette_know_the_new_screens(shown_store: Path) -> None:
    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        titles = {command.title for command in app.get_system_commands(app.screen)}
        assert {"Go to Bots", "Go to Train", "Go to Tournaments", "Go to Export"} <= titles
        for key, fact in (
            ("5", "conformance kit"),
            ("6", "metrics.jsonl"),
            ("7", "All tournaments, newest first"),
            ("8", "pgn"),
        ):
            await press(pilot, key, "question_mark")
            assert fact in seen(app), key
            await press(pilot, "escape")

    shown(watch(shown_store), act, (120, 40))

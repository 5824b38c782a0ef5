"""Tables, output and forms: their columns at each width, keys and clicks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from arena.tui.shell.confirm import ConfirmScreen
from arena.tui.widgets.form import Choice, FieldInput, FormField, Push
from arena.tui.widgets.output_panel import MAX_LINES, OutputPanel, break_lines
from arena.tui.widgets.table import Col, ColumnTable
from dashboard import Host, lines_of, piloted
from live_samples import EVIL

if TYPE_CHECKING:
    from textual.pilot import Pilot


class Row(NamedTuple):
    """A row of the table."""

    name: str
    number: int
    note: str = "note"


COLUMNS = (
    Col("name", lambda row: row.name, 6, is_name=True),
    Col("number", lambda row: str(row.number), 3, is_right=True),
    Col("note", lambda row: row.note, 4, 1),
    Col("last", lambda _: "last", 4, 2),
)


class RowTable(ColumnTable[Row]):
    """A table of these rows."""


def shown(width: int, *rows: Row) -> list[str]:
    table = RowTable(COLUMNS, "rows", nothing="none at all")
    app = Host(table)

    async def look(pilot: Pilot[None]) -> list[str]:
        table.show(rows)
        await pilot.pause()
        return lines_of(table)

    return piloted(app, look, (width, 8))


def test_columns_go_by_rank_and_numbers_stay_whole() -> None:
    row = Row("a-rather-long-name", 1234567)
    wide, middle, narrow = (shown(width, row) for width in (60, 26, 18))
    assert "a-rather-long-name 1234567 note last" in wide[2]
    assert "1234567 note" in middle[2]
    assert "last" not in middle[1]
    assert "1234567" in narrow[2]
    assert ".." in narrow[2]
    assert "note" not in narrow[1]


def test_a_table_without_rows_says_so() -> None:
    assert "none at all" in shown(40)[1]


@pytest.mark.parametrize("name", EVIL)
def test_evil_rows_keep_the_shape(name: str) -> None:
    lines = shown(40, Row(name, 7, name[:10]))
    assert all(line.isprintable() and line.isascii() for line in lines)
    assert {lines[0][0], lines[-1][-1]} == {"+"}


def test_the_cursor_is_a_mark_and_keys_move_it() -> None:
    table = RowTable(COLUMNS, "rows")
    app = Host(table)

    async def act(pilot: Pilot[None]) -> list[str]:
        table.show([Row(f"row-{number}", number) for number in range(20)])
        table.focus()
        await pilot.press("j", "down", "pagedown", "k")
        assert table.cursor > 2
        await pilot.press("end")
        assert table.current == Row("row-19", 19)
        return lines_of(table)

    assert any(line.startswith("#>row-19") for line in piloted(app, act, (40, 12)))


def test_output_follows_until_one_moves_up() -> None:
    panel = OutputPanel("output")
    panel.styles.height = 6
    app = Host(panel)

    async def act(pilot: Pilot[None]) -> None:
        panel.add(f"line {number}" for number in range(10))
        await pilot.pause()
        assert "line 9" in "".join(lines_of(panel))
        panel.focus()
        await pilot.press("home")
        panel.add(["line 10"])
        await pilot.pause()
        assert "line 0" in "".join(lines_of(panel))
        await pilot.press("end")
        assert "line 10" in "".join(lines_of(panel))
        panel.add(str(number) for number in range(MAX_LINES + 5))
        assert len(panel.said) == MAX_LINES
        panel.clear("empty")
        await pilot.pause()
        assert "line" not in "".join(lines_of(panel))

    piloted(app, act, (40, 12))


def test_long_lines_are_broken_at_blanks() -> None:
    assert break_lines(["one two three four"], 12) == ["one two ", "three four"]
    assert break_lines(["x" * 25], 12) == ["x" * 10, "x" * 10, "x" * 5]
    assert all(len(line) <= 5 for line in break_lines(["日本語の名前です"], 12))


class Form(Host):
    """Records the pressed buttons."""

    def __init__(self) -> None:
        self.pushed: list[str] = []
        self.choice = Choice("kind", ("one", "two", "three"))
        self.field = FormField("name", "default", "The help of it.")
        self.push = Push("go", "Go")
        super().__init__(self.choice, self.field, self.push)

    def on_push_pushed(self, message: Push.Pushed) -> None:
        self.pushed.append(message.name)


def test_a_choice_shows_all_and_the_chosen_one_in_brackets() -> None:
    app = Form()

    async def act(pilot: Pilot[None]) -> None:
        app.choice.focus()
        await pilot.press("right")
        assert lines_of(app.choice)[0].startswith(">kind         one [two] three")
        await pilot.press("l", "l", "h")
        assert app.choice.value == "three"
        await pilot.click(Choice, offset=(14, 0))
        assert app.choice.value == "one"
        app.choice.value = "no such"
        assert app.choice.value == "one"
        await pilot.press("enter")
        assert isinstance(app.screen.focused, FieldInput)

    piloted(app, act, (40, 8))


def test_a_choice_without_room_tells_its_place() -> None:
    app = Form()

    async def act(pilot: Pilot[None]) -> str:
        await pilot.click(Choice, offset=(15, 0))
        return lines_of(app.choice)[0]

    assert "[two] 2 of 3" in piloted(app, act, (28, 8))


def test_a_field_is_marked_while_it_is_written_in() -> None:
    app = Form()

    async def act(pilot: Pilot[None]) -> None:
        app.field.query_one(FieldInput).focus()
        await pilot.pause()
        await pilot.press(*"a1 q")
        assert app.field.value == "a1 q", "no key of these is one of the app"
        assert lines_of(app.field.query_one("FieldLabel"))[0].startswith(">name")
        app.push.focus()
        await pilot.pause()
        assert lines_of(app.field.query_one("FieldLabel"))[0].startswith(" name")
        assert lines_of(app.push)[0].startswith(">[ Go ]")
        await pilot.press("enter")
        await pilot.click(Push)
        await pilot.pause()
        assert app.pushed == ["go", "go"]

    piloted(app, act, (40, 8))


@pytest.mark.parametrize(("key", "answer"), [("y", True), ("enter", True), ("n", False), ("escape", False)])
def test_a_question_is_answered(key: str, *, answer: bool) -> None:
    app = Host()
    answers: list[bool | None] = []

    async def act(pilot: Pilot[None]) -> None:
        screen = ConfirmScreen("[b]Stop\x1b[31m it?", "It ends.")
        assert screen.text.plain.isprintable() or "\n" in screen.text.plain
        assert "[b]Stop" in screen.text.plain
        app.push_screen(screen, answers.append)
        await pilot.pause()
        await pilot.press(key)
        await pilot.pause()

    piloted(app, act, (50, 12))
    assert answers == [answer]

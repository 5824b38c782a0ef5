"""Plots: every point is where it belongs, whatever the curves are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from arena.cli import plot
from arena.cli.plot import Line, draw

if TYPE_CHECKING:
    import pytest

HEIGHT = 12


def rows_of(lines: list[Line], width: int = 60, charset: str = "ascii") -> list[str]:
    return ["".join(text for text, _ in row) for row in draw(lines, "left", "right", width, charset)]


def test_a_curve() -> None:
    rows = rows_of([Line("one", [(0, 1500.0), (1, 1600.0), (2, 1550.0)])], width=27)
    assert [row.rstrip() for row in rows] == [
        "1610 |",
        "     |          *",
        "     |",
        "1580 |",
        "     |",
        "     |",
        "     |                    *",
        "1540 |",
        "     |",
        "     |",
        "     |",
        "1500 |*",
        "     +---------------------",
        "      left            right",
        "      * one",
    ]


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 200), st.floats(-3000, 6000)), min_size=1, max_size=30),
        min_size=1,
        max_size=10,
    ),
    st.integers(30, 120),
)
def test_every_place_with_a_point_has_a_mark(curves: list[list[tuple[int, float]]], width: int) -> None:
    lines = [Line(f"bot-{number}", points) for number, points in enumerate(curves)]
    rows = rows_of(lines, width)
    assert len(rows) == HEIGHT + 2 + len(curves)
    margin = rows[0].index("|") + 1
    columns = width - margin
    assert {len(row) for row in rows[:HEIGHT]} == {width}
    assert {row.index("|") for row in rows[:HEIGHT]} == {margin - 1}
    last = max(place for points in curves for place, _ in points)
    marked = {
        (line, column)
        for line, row in enumerate(rows[:HEIGHT])
        for column, text in enumerate(row[margin:])
        if text != " "
    }
    values = [value for points in curves for _, value in points]
    wanted_columns = {
        round(place * (columns - 1) / last) if last else 0 for points in curves for place, _ in points
    }
    assert {column for _, column in marked} == wanted_columns
    # The labels of the axis say how high a line is; each point lies within half a line of its value.
    top, bottom = float(rows[0].split("|")[0]), float(rows[HEIGHT - 1].split("|")[0])
    step = (top - bottom) / (HEIGHT - 1)
    assert bottom <= min(values) <= max(values) <= top
    for points in curves:
        for place, value in points:
            column = round(place * (columns - 1) / last) if last else 0
            heights = [top - line * step for line, at in marked if at == column]
            assert any(abs(height - value) <= step / 2 + 1e-6 for height in heights)


def test_the_scale_is_as_fine_as_it_can_be() -> None:
    rows = rows_of([Line("one", [(0, 1500.0), (1, 1511.0)])])
    assert (rows[0].split()[0], rows[11].split()[0]) == ("1511", "1500")
    rows = rows_of([Line("one", [(0, 1500.0), (1, 1512.0)])])
    assert (rows[0].split()[0], rows[11].split()[0]) == ("1522", "1500")


def test_marks_of_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [Line("one", [(0, 1.0)]), Line("two\x1b[2J", [(1, 2.0)])]
    monkeypatch.delenv("ARENA_ASCII", raising=False)
    monkeypatch.setattr(plot.sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "60")
    plot.print_plot(lines, "a", "b")
    shown = capsys.readouterr().out
    assert "●" in shown
    assert "○" in shown
    assert "\x1b[2J" not in shown
    monkeypatch.setenv("ARENA_ASCII", "1")
    plot.print_plot(lines, "a", "b")
    assert capsys.readouterr().out.isascii()

"""The crosstable as a widget: its cursor, its cells, and the cost of drawing it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from arena.live.table_views import MatrixCell, MatrixView
from arena.tui.widgets.encounter_tables import Matrix
from dashboard import Heard, Host, lines_of, matrix, piloted

if TYPE_CHECKING:
    import pytest
    from textual.pilot import Pilot


def test_the_matrix_moves_changes_and_opens() -> None:
    table = Matrix()
    app = Heard(table)

    async def act(pilot: Pilot[None]) -> None:
        table.show(matrix())
        table.focus()
        await pilot.press("enter", "right", "l", "down", "enter", "left", "h", "k", "up")
        assert table.cursor == (0, 0)
        await pilot.click(table, offset=(14, 5))
        assert table.cursor == (3, 0)
        assert "td v az: 0% of 100, 0-0-100" in lines_of(table)[-1]
        await pilot.press("c")
        assert any("67-0-33*" in line for line in lines_of(table))
        await pilot.press("c")
        assert any("+68*" in line for line in lines_of(table))
        await pilot.press("c")
        assert table.mode == "score"

    piloted(app, act)
    assert [(getattr(m, "row", 0), getattr(m, "column", 0)) for m in app.heard] == [(1, 2)], (
        "not the diagonal"
    )


def test_bots_of_equal_strength_are_no_minus_apart() -> None:
    table = Matrix()

    async def act(pilot: Pilot[None]) -> None:
        view = matrix()
        even = tuple(
            tuple(None if cell is None else replace(cell, elo=-0.3) for cell in line) for line in view.cells
        )
        table.show(replace(view, cells=even))
        table.focus()
        await pilot.press("c", "c")
        text = "\n".join(lines_of(table))
        assert "+0" in text
        assert "-0" not in text

    piloted(Heard(table), act)


def test_a_matrix_that_does_not_fit_follows_its_cursor() -> None:
    table = Matrix()
    table.styles.width, table.styles.height = 24, 5
    app = Host(table)

    async def act(pilot: Pilot[None]) -> list[str]:
        table.show(matrix())
        table.focus()
        await pilot.press(*["right"] * 5, *["down"] * 4)
        return lines_of(table)

    lines = piloted(app, act)
    assert lines[1].split()[1:-1] == ["5", "6"], "columns are headed by places in the standings"
    assert "keras" in lines[3]


def test_a_large_matrix_reads_each_cell_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    names = tuple(f"bot-{number:02}" for number in range(40))
    cell = MatrixCell(games=256, wins=100, draws=56, losses=100)
    view = MatrixView(
        names=names,
        labels=names,
        ranks=tuple(str(number + 1) for number in range(40)),
        cells=tuple(tuple(None if row == column else cell for column in range(40)) for row in range(40)),
    )
    table = Matrix()
    table.styles.width, table.styles.height = 200, 44
    num_read = [0]

    def score(cell: MatrixCell) -> float:
        num_read[0] += 1
        return (cell.wins + cell.draws / 2) / cell.games

    monkeypatch.setattr(MatrixCell, "score", property(score))

    async def act(pilot: Pilot[None]) -> None:
        table.show(view)
        table.focus()
        await pilot.pause()
        assert num_read[0] <= 20 * 40 * 40, "widths of columns are computed once"
        num_read[0] = 0
        await pilot.press("down")
        assert num_read[0] <= 4 * 40 * 40, "and kept while only the cursor moves"

    piloted(Host(table), act)


def test_a_matrix_that_is_not_read_yet_is_not_empty() -> None:
    table = Matrix()

    async def act(pilot: Pilot[None]) -> None:
        await pilot.pause()
        text = "\n".join(lines_of(table))
        assert "reading results" in text
        assert "n 0" not in text
        table.show(MatrixView())
        await pilot.pause()
        assert "no matches yet" in "\n".join(lines_of(table))

    piloted(Host(table), act)


def test_columns_grow_with_their_numbers() -> None:
    table = Matrix()
    table.styles.width = 60

    async def act(pilot: Pilot[None]) -> None:
        view = matrix()
        await pilot.pause()
        table.show(view)
        table.focus()
        await pilot.press("c")
        cells = tuple(
            tuple(
                None if cell is None else replace(cell, games=30000, wins=10000, draws=10000, losses=10000)
                for cell in line
            )
            for line in view.cells
        )
        table.show(replace(view, cells=cells))
        await pilot.pause()
        assert "10000-10000-10000" in "\n".join(lines_of(table))

    piloted(Host(table), act)

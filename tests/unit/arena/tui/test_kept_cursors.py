"""A cursor stays on the chosen row while other rows arrive, because the next key applies to that row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from arena.live.bot_views import BotRow, BotsView
from arena.live.table_views import MatrixView, StandingsView
from arena.results.place_table import PlaceRow
from arena.tui.screens.bots_screen import BotsScreen
from arena.tui.widgets.encounter_tables import Matrix
from arena.tui.widgets.standings_table import PlacesTable, RankedBot, StandingsTable
from arena.watching.query_answers import Rows
from dashboard import NAMES, Host, matrix, piloted, settle, standings
from watching import press, shown, watch

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pytest
    from textual.pilot import Pilot

    from arena.tui.screens.dashboard import Dashboard
    from arena.watching.query import Query

TURNED = NAMES[::-1]


def ordered(names: Sequence[str]) -> StandingsView:
    rows = {row.name: row for row in standings().rows}
    return StandingsView(rows=tuple(rows[name] for name in names))


def crosstable(names: Sequence[str]) -> MatrixView:
    view = matrix()
    places = [view.names.index(name) for name in names]
    cells = tuple(tuple(view.cells[row][column] for column in places) for row in places)
    return replace(view, names=tuple(names), labels=tuple(names), cells=cells)


def test_the_cursor_of_standings_stays_on_its_bot_but_not_on_a_former_leader() -> None:
    table = StandingsTable()

    async def act(_: Pilot[None]) -> None:
        table.show(ordered(NAMES))
        assert table.row(table.cursor).name == NAMES[0]
        table.show(ordered(TURNED))
        assert table.row(table.cursor).name == TURNED[0], "on top it follows the leader"
        table.go_to(1)
        chosen = table.row(table.cursor).name
        table.show(ordered(NAMES))
        assert table.row(table.cursor).name == chosen
        table.show(ordered([name for name in NAMES if name != chosen]))
        assert table.cursor < table.num_rows

    piloted(Host(table), act)


def test_of_rows_with_one_name_the_cursor_stays_on_the_nearest() -> None:
    table = StandingsTable()

    async def act(_: Pilot[None]) -> None:
        table.show(ordered([*NAMES, *NAMES]))
        table.go_to(len(NAMES) + 1)
        table.show(ordered([*NAMES, *NAMES]))
        assert table.cursor == len(NAMES) + 1

    piloted(Host(table), act)


def test_the_cursor_of_places_stays_on_its_bot() -> None:
    def ranked(names: Sequence[str]) -> list[RankedBot]:
        rows = {row.name: row for row in standings().rows}
        place = PlaceRow(
            place=1,
            name="",
            points=1.0,
            buchholz=0.0,
            cut_one=0.0,
            median=0.0,
            sonneborn_berger=0.0,
            direct=None,
            wins=0,
        )
        return [RankedBot(replace(place, name=name), rows[name]) for name in names]

    table = PlacesTable()

    async def act(_: Pilot[None]) -> None:
        table.show(ranked(NAMES))
        table.show(ranked(TURNED))
        assert table.cursor == 0
        table.go_to(1)
        table.show(ranked(NAMES))
        assert table.current is not None
        assert table.current.place.name == TURNED[1]

    piloted(Host(table), act)


def test_the_cursor_of_the_crosstable_stays_on_its_two_bots() -> None:
    table = Matrix()

    async def act(_: Pilot[None]) -> None:
        table.show(crosstable(NAMES))
        table.show(crosstable(TURNED))
        assert table.cursor == (0, 0), "in the corner nothing was chosen"
        table.action_move(1, 2)
        table.show(crosstable(NAMES))
        assert table.cursor == (NAMES.index(TURNED[1]), NAMES.index(TURNED[2]))
        table.show(crosstable(NAMES[:2]))
        assert max(table.cursor) < 2
        table.show(MatrixView())
        assert table.cursor == (0, 0)
        twins = replace(crosstable(NAMES), names=("az", "mcts", "az", "mcts", "keras", "random"))
        table.show(twins)
        table.action_move(2, 3)
        table.show(twins)
        assert table.cursor == (2, 3), "two bots may have one name"

    piloted(Host(table), act)


def test_the_cursor_of_the_bots_stays_when_one_is_added_above(
    shown_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["mcts", "minimax", "random"]

    def read(_: Query) -> Rows[BotsView]:
        return Rows(BotsView(rows=tuple(BotRow(name=name) for name in sorted(names))))

    monkeypatch.setattr("arena.tui.screens.bots_screen.read_bots", read)

    async def act(pilot: Pilot[None], app: Dashboard) -> None:
        await press(pilot, "5", "down")
        screen = app.screen
        assert isinstance(screen, BotsScreen)
        assert screen.table.current is not None
        assert screen.table.current.name == "minimax"
        names.append("alphazero")
        screen.reload()
        while screen.table.num_rows < len(names):
            await settle(pilot)
        assert screen.table.current is not None
        assert screen.table.current.name == "minimax"

    shown(watch(shown_store, is_read_only=True), act)

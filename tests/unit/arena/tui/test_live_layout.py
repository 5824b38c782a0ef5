"""Screen 1 in terminals of all sizes: every panel that is shown fits into its container."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from textual.widget import Widget

from arena.live.table_views import MatrixCell, MatrixView
from arena.tui.widgets.panel import LinesPanel, Panel
from arena.tui.widgets.small_board import SmallBoard
from arena.tui.widgets.standings_table import StandingsTable
from dashboard import NAMES, piloted, running_dashboard, screen_lines, settle, standings

if TYPE_CHECKING:
    from pathlib import Path

    from textual.pilot import Pilot

MANY = tuple(f"bot-{number}" for number in range(14))


def _matrix(names: tuple[str, ...]) -> MatrixView:
    cell = MatrixCell(games=10, wins=5, losses=5)
    rows = tuple(tuple(None if a == b else cell for b in names) for a in names)
    return MatrixView(names=names, labels=names, ranks=tuple(map(str, range(1, len(names) + 1))), cells=rows)


def _cut(panel: Panel) -> bool:
    """Return whether a part of a panel is outside one of its containers."""
    outer = [node.region for node in panel.ancestors if isinstance(node, Widget)]
    return not all(region.contains_region(panel.region) for region in outer)


@pytest.mark.parametrize("size", [(80, 24), (80, 40), (120, 24), (120, 40), (120, 48), (200, 60)])
@pytest.mark.parametrize("names", [NAMES, MANY])
def test_nothing_is_cut(tmp_path: Path, size: tuple[int, int], names: tuple[str, ...]) -> None:
    facts: dict[str, object] = {"standings": standings(names), "matrix": _matrix(names)}
    app = running_dashboard(tmp_path, facts, glyphs="ascii")

    async def look(pilot: Pilot[None]) -> None:
        await settle(pilot)
        app.paint(everything=True)
        await pilot.pause()
        shown = [panel for panel in app.screen.query(Panel) if panel.size.area]
        assert {SmallBoard, StandingsTable, LinesPanel} <= {type(panel) for panel in shown}
        assert [panel for panel in shown if _cut(panel)] == []
        text = "\n".join(screen_lines(app))
        for fact in ("312/600", "52%", "7.8 matches/min", "ETA 37min", f"1 {names[0]}"):
            assert fact in text, text

    piloted(app, look, size)

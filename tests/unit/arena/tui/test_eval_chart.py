"""The chart of evals beside a replay."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arena.live.replay_views import Recorded, Replay
from arena.tui.widgets.charts import EvalChart
from arena_plugins.thoughts import Thoughts
from dashboard import Host, lines_of, piloted

if TYPE_CHECKING:
    from textual.pilot import Pilot


def _side(cell: int) -> int:
    """Return the player of a cell of a board with 15 columns: two cells each in turn, shifted per row."""
    return (cell % 15 // 2 + cell // 15) % 2


@pytest.mark.parametrize(("judge", "short"), [("minimax:depth=123456", "minimax"), ("solver", "solver")])
def test_the_name_of_a_judge_is_shortened_but_never_cut(judge: str, short: str) -> None:
    chart = EvalChart()
    app = Host(chart)
    recorded = Recorded(
        game="tic-tac-toe",
        bots=("a", "b"),
        actions=(0, 1),
        thoughts=(Thoughts(value=0.0),) * 2,
        outcome="draw",
        termination="rules",
        judge=judge,
    )

    async def act(pilot: Pilot[None]) -> dict[int, str]:
        chart.show(Replay(recorded), 1)
        edges: dict[int, str] = {}
        for width in range(18, 34):
            chart.styles.width = width
            await pilot.pause()
            edges[width] = lines_of(chart)[-1]
        return edges

    for width, edge in piloted(app, act).items():
        full = f"+-[ * {judge} ]"
        assert edge.startswith(full if len(full) < width else f"+-[ * {short} ]"), width


def test_a_long_eval_chart_shows_the_ply_that_is_looked_at() -> None:
    chart = EvalChart()
    app = Host(chart)

    async def act(pilot: Pilot[None]) -> list[str]:
        # Neither player gets five in a row.
        cells = [[cell for cell in range(225) if _side(cell) == side] for side in (0, 1)]
        actions = tuple(cell for pair in zip(*cells, strict=False) for cell in pair)[:100]
        said = (Thoughts(value=0.0),) * 100
        recorded = Recorded(
            game="gomoku",
            bots=("a", "b"),
            actions=actions,
            thoughts=said,
            outcome="draw",
            termination="rules",
        )
        chart.show(Replay(recorded), 70)
        await pilot.pause()
        return lines_of(chart)

    assert "^" in piloted(app, act)[-2]

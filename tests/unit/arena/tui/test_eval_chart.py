"""The chart of evals beside a replay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.live.replay_views import Recorded, Replay
from arena.tui.widgets.charts import EvalChart
from arena_plugins.thoughts import Thoughts
from dashboard import Host, lines_of, piloted

if TYPE_CHECKING:
    from textual.pilot import Pilot


def _side(cell: int) -> int:
    """Return whose stone lies on a cell of 15 columns: two each in turn, shifted from row to row."""
    return (cell % 15 // 2 + cell // 15) % 2


def test_the_name_of_a_judge_is_shortened_but_never_cut() -> None:
    chart = EvalChart()
    app = Host(chart)

    async def act(pilot: Pilot[None]) -> str:
        recorded = Recorded(
            game="tic-tac-toe",
            bots=("a", "b"),
            actions=(0, 1),
            thoughts=(Thoughts(value=0.0),) * 2,
            outcome="draw",
            termination="rules",
            judge="minimax:depth=123456",
        )
        chart.show(Replay(recorded), 1)
        await pilot.pause()
        return lines_of(chart)[-1]

    assert "[ * minimax ]" in piloted(app, act)


def test_a_long_eval_chart_shows_the_ply_that_is_looked_at() -> None:
    chart = EvalChart()
    app = Host(chart)

    async def act(pilot: Pilot[None]) -> list[str]:
        # Nobody gets five in a row.
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

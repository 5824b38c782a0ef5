"""Compiles the kernels of bundled bots for processes that have had no preflight."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arena.entrants import Competitor

SEARCHED = (
    ("minimax:depth=1", "tic-tac-toe"),
    ("mcts:playouts=20", "connect-four"),
    ("mcts:playouts=20", "tic-tac-toe"),
)
"""Bots with games: kernels of `minimax` serve all small games, those of `mcts` differ with gravity."""


def compile_bots() -> None:
    """Run the preflight of each bot in the weakest tier that has processes; the code serves all tiers."""
    # Imported here because most tests need none of it.
    from arena.entrants import resolve
    from arena.executor.preflight import Candidate, preflight
    from arena.referee.timecontrol import TimeControl
    from arena.sandbox.tier import Tier

    control = TimeControl(mode="move", move_ms=60_000)
    bots: list[Competitor] = resolve([spec for spec, _ in SEARCHED], margin_ms=0, twins=True)
    for bot, (_, game) in zip(bots, SEARCHED, strict=True):
        fault = preflight(Candidate(bot, game, control, Tier.T1, 120.0))
        assert fault is None, fault

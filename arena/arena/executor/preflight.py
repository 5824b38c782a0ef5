"""Before anything is planned: does every bot start, and answer one position?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from arena.executor.seats import make_seat
from arena.referee.clock import GameClock
from arena.referee.seats import Fault, SeatSetup
from arena.sandbox.tier import Tier

if TYPE_CHECKING:
    from arena.entrants import Competitor
    from arena.referee.clock import TimeControl
    from arena_plugins import Game


def preflight(
    competitor: Competitor, game: Game, limit: TimeControl, *, tier: str, init_s: float
) -> Fault | None:
    """Start a bot, ask it for its first move, and end it; None is a pass.

    Raises:
        PluginError: the bot cannot be loaded into this process (tier T0).
    """
    control = competitor.limit or limit
    seat = make_seat(competitor, game.name, Tier(tier))
    try:
        setup = SeatSetup(match="preflight", game=game, player=0, seed=0, control=control, init_s=init_s)
        fault = seat.start(setup)
        if fault is not None:
            return fault
        answer = seat.ask(game.initial_state(), 0, GameClock((control, control)))
        return answer if isinstance(answer, Fault) else None
    finally:
        seat.close()


def describe_fault(fault: Fault) -> str:
    """Say a fault in one line: what it was, and what the bot said last."""
    cause = str(fault.detail.get("cause") or "")
    last = str(fault.detail.get("stderr") or "").strip().rsplit("\n", 1)[-1]
    return ": ".join(part for part in (fault.termination.value, cause, last) if part)


def is_refused_option(fault: Fault) -> bool:
    """Tell whether the bot started but refuses the options it was given."""
    return "bad_option" in json.dumps(fault.detail)

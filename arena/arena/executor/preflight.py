"""Before anything is planned: does every bot start, and answer one position?"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from arena.executor.seats import make_seat
from arena.executor.workspace import workspace
from arena.referee.clock import GameClock
from arena.referee.hosted import HostedSeat
from arena.referee.seats import Fault, SeatSetup
from arena.sandbox.tier import Tier
from arena_plugins import OptionError, PluginError, Termination

if TYPE_CHECKING:
    from arena.entrants import Competitor
    from arena.referee.clock import TimeControl
    from arena.sandbox.trace import Tracer
    from arena_plugins import Game

_REFUSALS = ("it reported bad_option: ", f"{OptionError.__module__}.{OptionError.__name__}: ")
"""How the cause of a refused option begins, from a host and in this process."""


def preflight(  # noqa: PLR0913 - one keyword for each thing a caller may want
    competitor: Competitor,
    game: Game,
    limit: TimeControl,
    *,
    tier: str,
    init_s: float,
    tracer: Tracer | None = None,
) -> Fault | None:
    """Start a bot, ask it for its first move, and end it; None is a pass.

    Args:
        competitor: the bot.
        game: what it plays.
        limit: its time, unless it has a limit of its own.
        tier: how it is kept apart.
        init_s: seconds it has to start.
        tracer: counts the system calls that are refused to it.

    Raises:
        OptionError: an option is refused before the bot is started.
    """
    control = competitor.limit or limit
    setup = SeatSetup(match="preflight", game=game, player=0, seed=0, control=control, init_s=init_s)
    try:
        made = make_seat(competitor, game.name, Tier(tier), keeps_compiled=True)
    except OptionError:
        raise
    except PluginError as error:
        return Fault(Termination.INIT_CRASH, {"cause": str(error)})
    if isinstance(made, HostedSeat):
        made.tracer = tracer
    with workspace(), closing(made) as seat:
        fault = seat.start(setup)
        if fault is not None:
            return fault
        answer = seat.ask(game.initial_state(), 0, GameClock((control, control)))
        return answer if isinstance(answer, Fault) else None


def describe_fault(fault: Fault) -> str:
    """Say a fault in one line: what it was, and what the bot said last."""
    cause = str(fault.detail.get("cause") or "")
    last = str(fault.detail.get("stderr") or "").strip().rsplit("\n", 1)[-1]
    # The last line of a traceback, which may have been reported already.
    if last.partition(": ")[2] and last.endswith(cause.removeprefix("it reported init_error: ")):
        last = ""
    return ": ".join(part for part in (fault.termination.value, cause, last) if part)


def is_refused_option(fault: Fault) -> bool:
    """Tell whether the bot started but refuses the options it was given."""
    return str(fault.detail.get("cause")).startswith(_REFUSALS)

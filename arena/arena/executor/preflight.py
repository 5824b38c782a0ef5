"""Before anything is planned: does every bot start, and answer one position?"""

from __future__ import annotations

import re
from contextlib import closing
from typing import TYPE_CHECKING

import msgspec

from arena.executor.causes import advice
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
_ERROR = re.compile(r"(Error|Exception)\b.*: ")
"""In the line of a log that names an error; some runtimes write their own version after it."""


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
            return _advised(fault, competitor, Tier(tier))
        answer = seat.ask(game.initial_state(), 0, GameClock((control, control)))
        return _advised(answer, competitor, Tier(tier)) if isinstance(answer, Fault) else None


def _advised(fault: Fault, competitor: Competitor, tier: Tier) -> Fault:
    """Add what to do about a fault of a program, if that is known."""
    known = advice(fault, competitor, tier)
    return msgspec.structs.replace(fault, detail={**fault.detail, "advice": known}) if known else fault


def describe_fault(fault: Fault) -> str:
    """Return a fault in one line: what it was, what the bot said last, and what to do about it."""
    cause = str(fault.detail.get("cause") or "")
    lines = str(fault.detail.get("stderr") or "").strip().split("\n")
    last = next(filter(_ERROR.search, reversed(lines)), lines[-1]).strip()
    # The last line of a traceback, which may have been reported already.
    if last.partition(": ")[2] and last.endswith(cause.removeprefix("it reported init_error: ")):
        last = ""
    said = ": ".join(part for part in (fault.termination.value, cause, last) if part)
    known = str(fault.detail.get("advice") or "")
    return f"{said}; {known}" if known else said


def is_refused_option(fault: Fault) -> bool:
    """Tell whether the bot started but refuses the options it was given."""
    return str(fault.detail.get("cause")).startswith(_REFUSALS)

"""Before anything is planned: does every bot start, and answer one position?"""

from __future__ import annotations

import re
from contextlib import closing
from typing import TYPE_CHECKING

import msgspec

from arena.executor.runtime_versions import describe_runtime
from arena.executor.seats import make_seat
from arena.executor.workspace import workspace
from arena.referee.clock import GameClock
from arena.referee.hosted import HostedSeat
from arena.referee.inprocess import InProcessSeat
from arena.referee.output import Output
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
_PAGE = "docs/how-to/enter-foreign-bots.md"
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
    elif isinstance(made, InProcessSeat):
        made.output = Output()  # what it prints now is no part of the arena's report
    with workspace(), closing(made) as seat:
        fault = seat.start(setup)
        if fault is not None:
            return _with_view(fault, competitor, Tier(tier))
        answer = seat.ask(game.initial_state(), 0, GameClock((control, control)))
        return answer if isinstance(answer, Fault) else None


def _with_view(fault: Fault, competitor: Competitor, tier: Tier) -> Fault:
    """Add what a bot with a runtime may read to the fault of its start: a missing file is the usual cause."""
    if fault.termination is not Termination.INIT_CRASH or not competitor.runtime or tier < Tier.T2:
        return fault
    runtime = describe_runtime(competitor.runtime)
    view = (
        f"in tier {tier} it reads only its runtime ({runtime}) and its own files; "
        f"if it needs more, put all of it in a folder and name that with folder=DIR ({_PAGE})"
    )
    return msgspec.structs.replace(fault, detail={**fault.detail, "view": view})


def describe_fault(fault: Fault) -> str:
    """Return a fault in one line: what it was, what the bot said last, and what it was not shown."""
    cause = str(fault.detail.get("cause") or "")
    lines = str(fault.detail.get("stderr") or "").strip().split("\n")
    last = next(filter(_ERROR.search, reversed(lines)), lines[-1]).strip()
    # The last line of a traceback, which may have been reported already.
    if last.partition(": ")[2] and last.endswith(cause.removeprefix("it reported init_error: ")):
        last = ""
    said = ": ".join(part for part in (fault.termination.value, cause, last) if part)
    view = str(fault.detail.get("view") or "")
    return f"{said}; {view}" if view else said


def is_refused_option(fault: Fault) -> bool:
    """Tell whether the bot started but refuses the options it was given."""
    return str(fault.detail.get("cause")).startswith(_REFUSALS)

"""Before anything is planned: does every bot start, and answer one position?"""

from __future__ import annotations

import re
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from arena.executor.causes import advice
from arena.executor.seats import make_seat
from arena.executor.workspace import workspace
from arena.referee.clock import GameClock
from arena.referee.hosted import HostedSeat
from arena.referee.inprocess import InProcessSeat
from arena.referee.output import BotOutput
from arena.referee.seats import Fault, SeatSetup
from arena.referee.timecontrol import TimeControl
from arena.sandbox.tier import Tier
from arena_plugins import OptionError, PluginError, Termination

if TYPE_CHECKING:
    from arena.entrants import Competitor
    from arena.sandbox.trace import Tracer
    from arena_plugins import Game

_LATE = {
    Termination.INIT_TIMEOUT: "--init-time",
    Termination.TIME_MOVE: "--st or --tc",
    Termination.TIME_GAME: "--st or --tc",
}
"""How a bot can be late, and the option that gives it longer."""
_PATIENCE_S = 120.0
"""Seconds for a start, and for an answer, in which a bot may compile."""
_COMPUTED = 0.1
"""A bot that used this part of its time may have compiled; one that used less only waited."""
_TRIES = 3
_REFUSALS = ("it reported bad_option: ", f"{OptionError.__module__}.{OptionError.__name__}: ")
"""How the cause of a refused option begins, from a host and in this process."""
_REPORTED = re.compile(r"^it reported \w+: ")
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

    Compiling is no part of what a bot has to do in time. A bot that is late while it computes is tried with
    two minutes, what it compiles is kept, and then it must be in time.

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
    attempt = partial(_attempt, competitor, game, tier=tier, tracer=tracer)
    control = competitor.limit or limit
    fault = attempt(control, init_s)
    if fault is None or fault.termination not in _LATE or not (fault.is_stall or _has_computed(fault)):
        return _with_option(fault)
    attempt(TimeControl.parse(None, _PATIENCE_S, None), max(init_s, _PATIENCE_S))
    for _ in range(_TRIES):
        fault = attempt(control, init_s)
        if fault is None or not fault.is_stall:
            break
    return _with_option(fault)


def _has_computed(fault: Fault) -> bool:
    """Return whether a bot computed while it was late; in this process that is not measured."""
    used = fault.detail.get("cpu_ms")
    return used is None or float(str(used)) >= _COMPUTED * float(str(fault.detail["elapsed_ms"]))


def _with_option(fault: Fault | None) -> Fault | None:
    """Add the time it had, and the option that gives longer, to the cause of a fault of time."""
    if fault is None or fault.termination not in _LATE:
        return fault
    seconds = float(str(fault.detail["limit_ms"])) / 1000
    cause = f"{fault.detail['cause']}; it had {seconds:g} s, {_LATE[fault.termination]} gives longer"
    return msgspec.structs.replace(fault, detail={**fault.detail, "cause": cause})


def _attempt(  # noqa: PLR0913 - all that an attempt is made of
    competitor: Competitor,
    game: Game,
    control: TimeControl,
    init_s: float,
    *,
    tier: str,
    tracer: Tracer | None,
) -> Fault | None:
    """Start a bot, ask it for its first move, and end it; None is a pass.

    Raises:
        OptionError: an option is refused before the bot is started.
    """
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
        made.output = BotOutput()  # what it prints now is no part of the arena's report
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
    if last.partition(": ")[2] and last.endswith(_REPORTED.sub("", cause)):
        last = ""
    said = ": ".join(part for part in (fault.termination.value, cause, last) if part)
    known = str(fault.detail.get("advice") or "")
    return f"{said}; {known}" if known else said


def refused_option(competitor: Competitor, game: Game, *, tier: Tier) -> str:
    """Start a bot and end it; return why it refuses its options, empty if it takes them.

    Whatever else keeps it from starting is told by `preflight`, before a tournament.

    Args:
        competitor: the bot.
        game: what it is to play.
        tier: how it is kept apart.
    """
    control = TimeControl.parse(None, None, None)
    setup = SeatSetup(match="options", game=game, player=0, seed=0, control=control, init_s=_PATIENCE_S)
    try:
        made = make_seat(competitor, game.name, tier, keeps_compiled=True)
    except OptionError as error:
        return str(error)
    except PluginError:
        return ""
    with workspace(), closing(made) as seat:
        fault = seat.start(setup)
    return refusal(fault) if fault is not None and is_refused_option(fault) else ""


def refusal(fault: Fault) -> str:
    """Return what a bot says of the option that it refuses, without how that was reported."""
    return str(fault.detail.get("cause")).partition(": ")[2]


def is_refused_option(fault: Fault) -> bool:
    """Tell whether the bot started but refuses the options it was given."""
    return str(fault.detail.get("cause")).startswith(_REFUSALS)

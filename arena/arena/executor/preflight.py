"""Preflight: before a run, starts every bot and asks it for one move, several bots at once."""

from __future__ import annotations

import re
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, wait
from contextlib import closing
from functools import reduce
from typing import TYPE_CHECKING

import msgspec

from arena.entrants import Competitor
from arena.executor.causes import advice
from arena.executor.job import cached_game
from arena.executor.local import LocalPool
from arena.executor.worker_seats import keep_compiled, make_seat
from arena.executor.workspace import workspace
from arena.referee.bot_output import BotOutput
from arena.referee.clock import GameClock
from arena.referee.hosted import HostedSeat
from arena.referee.inprocess import InProcessSeat
from arena.referee.raised import last_raised
from arena.referee.seats import Forfeit, SeatSetup
from arena.referee.timecontrol import TimeControl
from arena.sandbox.resources import num_cores
from arena.sandbox.tier import Tier
from arena_plugins import OptionError, Termination
from arena_plugins.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from arena.referee.seats import Seat
    from arena.sandbox.trace import Tracer
    from arena_plugins import Game, State

_LATE = {
    Termination.INIT_TIMEOUT: "--init-time",
    Termination.TIME_MOVE: "--st or --tc",
    Termination.TIME_GAME: "--st or --tc",
}
"""Terminations of a bot that was late, with the option that allows more time."""
_PATIENCE_S = 120.0
"""Seconds for a start and for an answer while a bot may be compiling; it compiles only once, since the code
is kept."""
_COMPUTED = 0.1
"""Minimum share of its time that a late bot must have computed to count as compiling; below it, the bot only
waited."""
_TRIES = 3
_REFUSALS = ("it reported bad_option: ", f"{OptionError.__module__}.{OptionError.__name__}: ")
"""Prefixes of the cause of a rejected option, from a host and from this process."""
_REPORTED = re.compile(r"^it reported \w+: ")
_NO_MESSAGE = "not an arena-bot/1 message"
"""Start of the cause when a line is not JSON or lacks a field."""
_MAX_SENT = 100
"""Maximum characters that are shown of a line that is not a message."""
_ERROR = re.compile(r"(Error|Exception)\b.*: ")
"""Finds the line of a log that names an error; some runtimes print their own version after it."""


class Candidate(msgspec.Struct, frozen=True):
    """A bot to be tried, and how."""

    competitor: Competitor
    game: str
    """Spec of the game to play."""
    limit: TimeControl
    """Its time limit, unless it has one of its own."""
    tier: str
    """Isolation tier."""
    init_s: float
    """Seconds it may take to start."""
    opening: tuple[int, ...] = ()
    """Actions that lead to the position it is asked about. An engine that cannot be given a position needs an
    empty opening."""


def preflight(bot: Candidate, tracer: Tracer | None = None) -> Forfeit | None:
    """Start a bot, ask it for one move and stop it; return its fault, or None if it passes.

    Args:
        bot: the bot.
        tracer: counts the system calls that the sandbox denies.

    Raises:
        PluginError: there is no such game.
        OptionError: an option is rejected before the bot is started.
        IllegalMoveError: the opening is illegal in this game.
    """
    competitor, game, tier = bot.competitor, cached_game(bot.game), Tier(bot.tier)
    state = position(game, bot.opening)

    def attempt(control: TimeControl, init_s: float) -> Forfeit | None:
        try:
            made = make_seat(competitor, game.name, tier, adjust=keep_compiled)
        # First, because it is a PluginError as well: the caller reports it, since no bot was started.
        except OptionError:
            raise
        except PluginError as error:
            return Forfeit(Termination.INIT_CRASH, {"cause": str(error)})
        if isinstance(made, HostedSeat):
            made.tracer = tracer
        elif isinstance(made, InProcessSeat):
            made.output = BotOutput()  # discards output of the preflight, which belongs in no report
        with workspace(), closing(made) as seat:
            fault = ask_once(seat, game, state, control, init_s)
            return None if fault is None else with_advice(fault, competitor, tier)

    return _with_option(try_patiently(attempt, competitor.limit or bot.limit, bot.init_s))


def position(game: Game, actions: Sequence[int]) -> State:
    """Return the state after these actions.

    Raises:
        IllegalMoveError: one of them is illegal.
    """
    return reduce(lambda state, action: state.child(action), actions, game.initial_state())


def ask_once(seat: Seat, game: Game, state: State, control: TimeControl, init_s: float) -> Forfeit | None:
    """Start the bot of a seat and ask it for a move; return its fault, or None if it passes.

    Args:
        seat: the bot's seat; its bot is left as it is, started or failed.
        game: the game.
        state: the position, at the end of an opening.
        control: time control for the answer.
        init_s: seconds the bot may take to start.
    """
    setup = SeatSetup(
        match="preflight", game=game, player=state.current_player, seed=0, control=control, init_s=init_s
    )
    fault = seat.start(setup)
    if fault is not None:
        return fault
    answer = seat.ask(state, len(state.history), GameClock((control, control)))
    return answer if isinstance(answer, Forfeit) else None


def try_patiently(
    attempt: Callable[[TimeControl, float], Forfeit | None], control: TimeControl, init_s: float
) -> Forfeit | None:
    """Try a bot, and try it again if it was late because it compiled or the machine was too busy.

    Compile time does not count against a bot. A bot that computes while it is late is run once with two
    minutes, its compiled code is kept, and after that it must be in time.

    Args:
        attempt: starts the bot and asks it for a move, given the time control and the seconds for the start.
        control: time control for the answer.
        init_s: seconds the bot may take to start.
    """
    fault = attempt(control, init_s)
    if fault is None or fault.termination not in _LATE or not (fault.is_stall or _has_computed(fault)):
        return fault
    # The bot is told its usual time, otherwise a search would use all of the two minutes; only the referee's
    # margin grows.
    margin_ms = max(control.margin_ms, round(1000 * _PATIENCE_S))
    attempt(msgspec.structs.replace(control, margin_ms=margin_ms), max(init_s, _PATIENCE_S))
    for _ in range(_TRIES):
        fault = attempt(control, init_s)
        if fault is None or not fault.is_stall:
            break
    return fault


def _has_computed(fault: Forfeit) -> bool:
    """Return whether a late bot computed; True for a bot in this process, whose CPU time is unknown."""
    used = fault.detail.get("cpu_ms")
    return used is None or float(str(used)) >= _COMPUTED * float(str(fault.detail["elapsed_ms"]))


def _with_option(fault: Forfeit | None) -> Forfeit | None:
    """Add to the cause of a time fault how much time there was and which option allows more."""
    if fault is None or fault.termination not in _LATE:
        return fault
    seconds = float(str(fault.detail["limit_ms"])) / 1000
    cause = f"{fault.detail['cause']}; it had {seconds:g} s, {_LATE[fault.termination]} gives longer"
    return msgspec.structs.replace(fault, detail={**fault.detail, "cause": cause})


def with_advice(fault: Forfeit, competitor: Competitor, tier: Tier) -> Forfeit:
    """Return a fault with advice added, if it is that of a program and its cause is known."""
    known = advice(fault, competitor, tier)
    return msgspec.structs.replace(fault, detail={**fault.detail, "advice": known}) if known else fault


def describe_fault(fault: Forfeit) -> str:
    """Return a fault in one line: what happened, the bot's last words and their place, and what to do.

    A Python exception is followed by file and line of the bot's own innermost frame, as in the sentence about
    a forfeit: `main.py fails: KeyError: 'd' in helper.py:41`. A line that is not a message is quoted: most
    often a program has printed to stdout something meant for people.
    """
    cause = _REPORTED.sub("", str(fault.detail.get("cause") or ""))
    offending = str(fault.detail.get("offending") or "")
    if offending and cause.startswith(_NO_MESSAGE):
        sent = offending if len(offending) <= _MAX_SENT else f"{offending[: _MAX_SENT - 3]}..."
        cause = f"{cause}; it wrote {sent} to stdout, which is reserved for messages"
    stderr = str(fault.detail.get("stderr") or "")
    lines = stderr.strip().split("\n")
    last = next(filter(_ERROR.search, reversed(lines)), lines[-1]).strip()
    # The last line of a traceback is omitted if the cause already contains it.
    if last.partition(": ")[2] and last.endswith(cause):
        last = ""
    said = _with_place(": ".join(part for part in (fault.termination.value, cause, last) if part), stderr)
    known = str(fault.detail.get("advice") or "")
    return f"{said}; {known}" if known else said


def _with_place(said: str, stderr: str) -> str:
    """Return a sentence with file and line added after the exception it names, if a traceback has them."""
    raised = last_raised(stderr)
    if raised is None or not raised.place:
        return said
    # An adapter or the host reports an exception without the module of its class.
    name, colon, text = raised.error.partition(": ")
    before, error, after = said.rpartition(f"{name.rpartition('.')[2]}{colon}{text}")
    return f"{before}{error} in {raised.place}{after}" if error else said


def refused_option(competitor: Competitor, game: Game, *, tier: Tier) -> str:
    """Start a bot and stop it; return why it rejects its options, or an empty string if it accepts them.

    All other reasons that keep a bot from starting are reported by `preflight`, before a tournament.

    Args:
        competitor: the bot.
        game: the game.
        tier: isolation tier.
    """
    control = TimeControl.parse(None, None, None)
    setup = SeatSetup(match="options", game=game, player=0, seed=0, control=control, init_s=_PATIENCE_S)
    try:
        made = make_seat(competitor, game.name, tier, adjust=keep_compiled)
    except OptionError as error:
        return str(error)
    except PluginError:
        return ""
    with workspace(), closing(made) as seat:
        fault = seat.start(setup)
    return refusal(fault) if fault is not None and is_refused_option(fault) else ""


def refusal(fault: Forfeit) -> str:
    """Return a bot's reason for rejecting an option, without the prefix of the report."""
    return str(fault.detail.get("cause")).partition(": ")[2]


def is_refused_option(fault: Forfeit) -> bool:
    """Return whether a bot started but rejects its options."""
    return str(fault.detail.get("cause")).startswith(_REFUSALS)


_WORTH_IT = 3
"""Minimum number of bots for which workers are started: starting them takes as long as two quick preflights.
"""

_LOST = "two worker processes died while they tried it; --isolation T2 keeps a bot from killing them"


def run_preflights(entries: Sequence[Candidate], num_workers: int) -> Generator[Forfeit | Exception | None]:
    """Try all bots; yield each result in order: a fault, the exception that was raised, or None for a pass.

    If a bot would run in this process, all bots are tried one after the other. A bot whose worker died is
    tried once more in a new worker; the others continue. When the caller stops iterating, running preflights
    are aborted.

    Args:
        entries: the bots.
        num_workers: maximum number tried at once; limited to the number of cores, since bots that share cores
            make each other late.
    """
    at_once = min(num_workers, num_cores(), len(entries))
    if at_once == 1 or len(entries) < _WORTH_IT or any(each.tier == Tier.T0 for each in entries):
        yield from map(_try, entries)
        return
    with workspace() as folder, closing(LocalPool(at_once, folder)) as pool:
        futures = {pool.call(_try, each): number for number, each in enumerate(entries)}
        found: dict[int, Forfeit | Exception | None] = {}
        is_again: set[int] = set()
        try:
            for number in range(len(entries)):
                while number not in found:
                    for future in wait(futures, return_when=FIRST_COMPLETED).done:
                        tried = futures.pop(future)
                        try:
                            found[tried] = future.result()
                        except BrokenExecutor:
                            pool.rebuild()
                            if tried in is_again:
                                # A third try would have to run in this process, which the bot might kill.
                                found[tried] = PluginError(_LOST)
                            else:
                                is_again.add(tried)
                                futures[pool.call(_try, entries[tried])] = tried
                yield found.pop(number)
        finally:
            if futures:
                pool.abort()


def _try(entry: Candidate) -> Forfeit | Exception | None:
    try:
        return preflight(entry)
    except Exception as error:  # noqa: BLE001 - raised by the caller, who knows whose bot it is
        return error

"""Checks of a bot in a seat: the kit for programs, and play with a full disk, little memory, a long pause."""

from __future__ import annotations

import os
import signal
import time
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from arena.entrants import resolve
from arena.executor.preflight import describe_fault, is_refused_option
from arena.executor.sandboxed import strongest_usual_tier
from arena.executor.worker_seats import make_seat
from arena.executor.workspace import workspace
from arena.match import MatchSetup, play_match
from arena.referee.clock import GameClock
from arena.referee.hosted import HostedSeat
from arena.referee.inprocess import InProcessSeat
from arena.referee.seats import Answer, Forfeit, SeatSetup
from arena.referee.timecontrol import TimeControl
from arena.sandbox.tier import Tier
from arena_plugins import BotError, OptionError, Outcome, PlayResult, load_game
from arena_plugins.conformance import Check, check_bot
from arena_plugins.contract import Termination
from arena_plugins.program import EXEC, exec_command
from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from arena.entrants import Competitor
    from arena.match import MatchResult
    from arena.referee.seats import Detail, Seat
    from arena.sandbox.resources import Resources, Withheld
    from arena_plugins import Game, Limit, State

_MAX_SEATS = 3
"""Programs that run at once; no check of the kit asks more than two bots in turns."""
_LEAST_S = 0.001
"""Shortest time per move of a time control, in seconds: it counts whole milliseconds."""
_KIT_MARGIN_MS = 60_000
"""Milliseconds by which an answer may be late: here the kit checks the time, not the referee."""


class SeatedBot:
    """A bot of the conformance kit whose answers come from the program in a seat."""

    def __init__(self, seat: Seat, game: Game, seed: int, init_s: float) -> None:
        """Start the program.

        Raises:
            OptionError: it rejects an option.
            BotError: it does not start.
        """
        self._seat = seat
        self._game = game
        self._seed = seed
        self._init_s = init_s
        self._announced = (0, TimeControl.parse(None, None, None))
        self._has_match = False
        self._asked: tuple[int, ...] | None = None
        self._start()
        self.deterministic = seat.deterministic

    def play(self, state: State, limit: Limit) -> PlayResult:
        """Return the program's answer.

        Raises:
            BotError: its answer is missing or would not be accepted in a match.
        """
        seconds = None if limit.seconds is None else max(limit.seconds, _LEAST_S)
        control = TimeControl.parse(None, seconds, limit.nodes, margin_ms=_KIT_MARGIN_MS)
        # The kit asks about positions in an order that no match would produce, so the program may need a new
        # match.
        last = self._asked
        goes_on = last is None or (len(state.history) > len(last) and state.history[: len(last)] == last)
        if (state.current_player, control) != self._announced or not goes_on:
            self._announced = (state.current_player, control)
            self._start()
        self._asked = state.history
        answer = self._seat.ask(state, 0, GameClock((control, control)))
        if isinstance(answer, Forfeit):
            raise BotError(describe_fault(answer))
        if not isinstance(answer, Answer):
            return PlayResult(state.legal_actions[0], resign=True)
        said = answer.thoughts
        return PlayResult(
            answer.action,
            value=said.value,
            policy=None if said.policy is None else dict(said.policy),
            visits=None if said.visits is None else dict(said.visits),
            nodes=said.nodes,
        )

    def _start(self) -> None:
        if self._has_match:
            # A program plays one match at a time, so the current one ends before the next one starts.
            self._seat.finish(Outcome.VOID, Termination.ABORTED)
        self._has_match = True
        player, control = self._announced
        setup = SeatSetup(
            match="check",
            game=self._game,
            player=player,
            seed=self._seed,
            control=control,
            init_s=self._init_s,
        )
        fault = self._seat.start(setup)
        if fault is not None and is_refused_option(fault):
            raise OptionError(str(fault.detail.get("cause")).partition(": ")[2])
        if fault is not None:
            raise BotError(describe_fault(fault))


def check_program(
    competitor: Competitor, game: Game, tier: Tier, *, seconds: float, init_s: float
) -> list[Check]:
    """Run the conformance kit on a program; each bot of the kit gets a seat as in a match.

    A program may exit after its match, and only a seat can start it again.

    Args:
        competitor: a bot with the option `cmd`.
        game: the game to play.
        tier: the isolation tier.
        seconds: thinking time for one answer.
        init_s: seconds the program may take to start.
    """
    seats: list[Seat] = []
    own = competitor.options_at(competitor.place)

    def make(game: Game, seed: int, options: Mapping[str, str]) -> SeatedBot:
        if competitor.record.name == EXEC:
            exec_command(options)
        while len(seats) >= _MAX_SEATS:
            # The kit does not say when it is done with a bot, so the oldest program ends.
            seats.pop(0).close()
        # The kit adds an unknown option to see whether the bot refuses it.
        more = {key: value for key, value in options.items() if key not in own}
        bot = msgspec.structs.replace(competitor, options={**competitor.options, **more})
        seats.append(make_seat(bot, game.name, tier))
        return SeatedBot(seats[-1], game, seed, init_s)

    with workspace():
        try:
            return check_bot(make, game, options=own, seconds=seconds)
        finally:
            for seat in seats:
                seat.close()


PAUSE_S = 5.0
"""Seconds for which a bot is stopped (SIGSTOP) between two of its moves."""
LITTLE_MEMORY = 256_000_000
"""Memory limit of the check with little memory, in bytes."""
_INIT_S = 60.0
"""Seconds a bot may take to start, as in a tournament without `--init-time`."""
_MARGIN_MS = 10_000
"""Milliseconds after which a late answer counts as a hang: these checks do not judge how well a bot keeps its
time."""
_POLL_S = 0.001
"""Seconds between two checks of whether the arena has noticed that a process was killed."""
_NODES = 100
_SEED = 1
_MAX_DETAIL = 300
_HANGS = frozenset({Termination.TIME_MOVE, Termination.TIME_GAME, Termination.INIT_TIMEOUT})
_DEATHS = frozenset({Termination.CRASH, Termination.INIT_CRASH})
_REPORTED = "it reported "
"""Prefix of the cause of a fault that the bot itself reported."""


class StressCheck(NamedTuple):
    """One adverse condition, and how a match is played under it."""

    title: str
    tier: Tier
    """The weakest isolation tier that can create the condition."""
    play: Callable[[Stage], MatchResult | str]
    """Plays the bot. Returns the result of its last match, or why the bot fails regardless of the result."""


class Stage(NamedTuple):
    """The bot, the game and the limits of a check."""

    competitor: Competitor
    game: Game
    tier: Tier
    seconds: float
    """Thinking time for one answer."""
    pause_s: float

    def seat(self, adjust: Callable[[Resources], Resources] | None = None) -> Seat:
        """Return a seat for the bot as in a match, with its resources changed by `adjust`."""
        return make_seat(self.competitor, self.game.name, self.tier, adjust=adjust)


class FirstLegal:
    """An opponent that plays the first legal action and sleeps for `pause_s` before its first one."""

    def __init__(self, pause_s: float) -> None:
        self._pause_s = pause_s

    def play(self, state: State, limit: Limit) -> PlayResult:
        """Return the first legal action."""
        del limit
        time.sleep(self._pause_s)
        self._pause_s = 0.0
        return PlayResult(state.legal_actions[0])


def run_stress_checks(
    bot: str, game: str, *, seconds: float, first_number: int = 1, pause_s: float = PAUSE_S
) -> Iterator[Check]:
    """Play a bot under each adverse condition that the strongest default tier can create.

    A bot passes if it plays to the end, reports an error, or ends with a fault that names its cause. It fails
    if it hangs, dies without an explanation, or makes the arena fail.

    Args:
        bot: spec of the bot.
        game: spec of the game.
        seconds: thinking time for one answer.
        first_number: number of the first check.
        pause_s: seconds for which the bot is stopped between two moves.

    Yields:
        The result of each check.

    Raises:
        PluginError: there is no such bot or game, or one of its files cannot be read.
        OptionError: its command cannot be read.
        ConfigError: this system has no sandbox.
    """
    competitor = resolve([bot], margin_ms=0)[0]
    stage = Stage(competitor, load_game(game), strongest_usual_tier(), seconds, pause_s)
    possible = [check for check in STRESS_CHECKS if check.tier <= stage.tier]
    for number, check in enumerate(possible, first_number):
        with workspace():
            seen = check.play(stage)
        passed, detail = (False, seen) if isinstance(seen, str) else judge(seen)
        yield Check(number, check.title, passed=passed, detail=clean_text(detail, _MAX_DETAIL))


def judge(result: MatchResult) -> tuple[bool, str]:
    """Return whether a match under an adverse condition ended acceptably, and what happened."""
    fault, termination = result.fault, result.termination
    if fault is None:
        return True, f"{result.reason}, {len(result.actions)} actions"
    seen = describe_fault(Forfeit(termination, fault))
    if termination in _HANGS:
        return False, f"it hangs: {seen}"
    if termination.is_void:
        return False, f"the arena failed: {seen}"
    if termination in _DEATHS and not _says_why(fault):
        return False, f"it dies without an explanation: {seen}"
    return True, seen


def _says_why(fault: Detail) -> bool:
    """Return whether a bot that ended gave a reason, by a message or on stderr before it exited by itself."""
    if str(fault.get("cause")).startswith(_REPORTED):
        return True
    return fault.get("signal") is None and bool(str(fault.get("stderr") or "").strip())


def _without(withheld: Withheld, stage: Stage) -> MatchResult:
    def withhold(resources: Resources) -> Resources:
        # Permissions that the bot got in weaker tiers must be withheld here, too.
        return msgspec.structs.replace(
            resources,
            withheld=(withheld,),
            allow=() if withheld == "attributes" else resources.allow,
            procfs=resources.procfs and withheld != "procfs",
        )

    with closing(stage.seat(withhold)) as seat:
        return _play(stage, seat)


def _with_little_memory(stage: Stage) -> MatchResult:
    with closing(stage.seat(partial(msgspec.structs.replace, memory_bytes=LITTLE_MEMORY))) as seat:
        return _play(stage, seat)


def _with_a_pause(stage: Stage) -> MatchResult:
    with closing(stage.seat()) as seat:
        return _play(stage, seat, pause_s=stage.pause_s)


def _restarted(stage: Stage) -> MatchResult | str:
    with closing(stage.seat()) as seat:
        result = _play(stage, seat)
        if result.fault is not None:
            return result
        # A deterministic bot promises to repeat its moves only if nodes are the only limit.
        control = TimeControl.parse(None, None, _NODES) if seat.deterministic else None
        before = _play(stage, seat, control=control)
        _kill(seat)
        after = _play(stage, seat, control=control)
    if control is not None and after.fault is None and after.actions != before.actions:
        return (
            f"it says that it is deterministic, but it played {_moves(stage.game, after)} after the restart, "
            f"and {_moves(stage.game, before)} before"
        )
    return after


def _kill(seat: Seat) -> None:
    """Kill the process of a bot between two matches, and wait until the arena notices."""
    if isinstance(seat, HostedSeat) and seat.pid is not None:
        os.kill(seat.pid, signal.SIGKILL)
        while seat.check() is None:
            time.sleep(_POLL_S)


def _moves(game: Game, result: MatchResult) -> str:
    state, moves = game.initial_state(), list[str]()
    for action in result.actions:
        moves.append(game.move(state, action))
        state = state.child(action)
    return " ".join(moves)


def _play(
    stage: Stage, seat: Seat, *, pause_s: float = 0.0, control: TimeControl | None = None
) -> MatchResult:
    """Play one match, the bot first, against `FirstLegal`."""
    control = control or TimeControl.parse(None, stage.seconds, _NODES, margin_ms=_MARGIN_MS)
    # The opponent may pause its move without losing on time.
    patient = TimeControl.parse("inf", None, None)
    setup = MatchSetup(
        id="stress",
        labels=("it", "its opponent"),
        seeds=(_SEED, _SEED),
        controls=(control, patient),
        init_s=_INIT_S,
    )
    opponent = InProcessSeat(lambda _game, _seed: FirstLegal(pause_s), name="first-legal", version="")
    # A stall counts as late here, because there is no run that would play the match again.
    return play_match(stage.game, (seat, opponent), setup, stalls_count=True)


STRESS_CHECKS = (
    StressCheck("Its scratch folder is full", Tier.T3, partial(_without, "space")),
    StressCheck("Its scratch folder has no inode left", Tier.T3, partial(_without, "inodes")),
    StressCheck("It has 256 MB of memory", Tier.T1, _with_little_memory),
    StressCheck("It has no /proc", Tier.T2, partial(_without, "procfs")),
    StressCheck("It cannot change the mode or the times of files", Tier.T2, partial(_without, "attributes")),
    StressCheck("It is stopped for seconds between two moves", Tier.T1, _with_a_pause),
    StressCheck("Its process is killed between two matches", Tier.T1, _restarted),
)
"""All checks, in the order of their numbers."""

"""Plays one match: the opening, the requests for moves in turn, the outcome."""

from __future__ import annotations

import hashlib
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING

import msgspec

from arena.errors import ArenaError
from arena.referee.clock import GameClock
from arena.referee.inprocess import InProcessSeat, fast_seats_of, play_fast
from arena.referee.remarks import NewsGate
from arena.referee.seats import Answer, Detail, Forfeit, Record, Resignation, SeatSetup
from arena.referee.timecontrol import TimeControl
from arena.referee.verdict import Ending, reason
from arena_plugins.contract import Outcome, State, Termination
from arena_plugins.thoughts import Thoughts

if TYPE_CHECKING:
    from arena.referee.inprocess import FastSeat
    from arena.referee.seats import Seat
    from arena_plugins.contract import Bot, Game

# Module constants, as in `verdict`, because looking up a member of an enum is slow.
_WINS = (Outcome.FIRST, Outcome.SECOND)
_DRAW, _VOID = Outcome.DRAW, Outcome.VOID
_RULES = Termination.RULES
_POLLED = "polled"


class MatchSetup(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that defines a match besides the game and the seats."""

    id: str
    """The id of the match, as sent to the bots."""
    labels: tuple[str, str]
    """The bots' names in this tournament, first player's and second player's."""
    seeds: tuple[int, int]
    """One seed per player, below 2^53; see `match_seed`."""
    controls: tuple[TimeControl, TimeControl]
    """One time control per player, because a bot may have its own limit."""
    opening: tuple[int, ...] = ()
    """Actions played before the bots are asked."""
    init_s: float = 60.0
    """Seconds a bot has to start, and again to become ready."""


class MatchResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result and record of a match; plain data that can be pickled."""

    outcome: Outcome
    termination: Termination
    reason: str
    """How the match ended, in words: `X wins by four in a row`."""
    rated: bool
    actions: tuple[int, ...]
    """All actions from the initial state on, opening included."""
    num_opening: int
    """Number of `actions` that belong to the opening."""
    times_ms: tuple[int, ...]
    """Elapsed milliseconds per action; 0 in the opening."""
    infos: tuple[Thoughts | None, ...]
    """The mover's thoughts, per action; None in the opening."""
    fault: Detail | None
    """The evidence, if a bot or the arena failed."""
    fault_player: int | None
    """The player that forfeited, 0 or 1; None if neither or both did."""
    started_at: float
    """Start of the match, in seconds since the epoch (UTC)."""
    duration_ms: int
    tier: str
    """The weaker isolation tier of the two seats."""
    idle_cpu_ms: tuple[float | None, float | None] = (None, None)
    """Milliseconds of CPU time each bot used while it had to wait, first and second; None if not measured."""
    limits: str = ""
    """How memory, tasks and CPU were limited: `kernel` or `polled` (the weaker one); empty without limits."""
    runtimes: tuple[str, str] = ("", "")
    """The runtime of each bot's code, such as `python 3.11.2`; empty if unknown."""

    @property
    def values(self) -> tuple[float | None, ...]:
        """Result expected by the mover of each action, in [-1, 1] for the mover; None if not reported."""
        return tuple(None if info is None else info.value for info in self.infos)


def match_seed(tournament_seed: int, pairing: int, match_no: int, player: int) -> int:
    """Return a player's seed for a match, an int below 2^53.

    The seed is the top 53 bits of the SHA-256 of `tournament_seed/pairing/match_no/player`, all decimal;
    `pairing` is the index of the encounter and `match_no` the index within it, both from 0.
    """
    text = f"{tournament_seed}/{pairing}/{match_no}/{player}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 11


def play_match(  # noqa: PLR0913 - one keyword per hook and option
    game: Game,
    seats: tuple[Seat, Seat],
    setup: MatchSetup,
    *,
    on_ready: Callable[[Record], None] | None = None,
    on_move: Callable[[int, int, Answer], None] | None = None,
    on_info: Callable[[int, Thoughts], None] | None = None,
    abort: Callable[[], bool] | None = None,
    adjudicate: Callable[[State], Outcome | None] | None = None,
    stalls_count: bool = False,
) -> MatchResult:
    """Play one match; seats[0] moves first. The seats stay started for the next match.

    Args:
        game: the rules.
        seats: the players; a seat that was used before keeps its process.
        setup: everything else that defines the match.
        on_ready: called once both bots are ready, with the growing record; another thread may read it.
        on_move: called as `on_move(ply, action, answer)` after each accepted action, but not in the opening.
        on_info: called as `on_info(ply, thoughts)` while the mover thinks, at most twice a second, with its
            latest thoughts.
        abort: called before each action; when it returns True the match ends as `aborted`.
        adjudicate: called before each action; when it returns an outcome the match ends as `adjudicated`.
        stalls_count: whether a late bot loses even if the arena may be to blame; otherwise the match then
            ends as `arena_stall`.

    Returns:
        The result, in all cases: an error of the arena itself ends the match as `arena_error`, with the
        traceback as evidence. Only exceptions outside `Exception` (Ctrl-C) propagate, after both seats are
        closed.
    """
    news = None if on_info is None else NewsGate(on_info)
    hooks = _Hooks(on_ready, on_move, news, abort, adjudicate)
    match = _Match(game, seats, setup, hooks, stalls_count=stalls_count)
    try:
        return match.result(match.play())
    except Exception as error:  # noqa: BLE001 - a bug in the arena must not cost more than this match
        is_known = isinstance(error, ArenaError)  # its message says what to do
        fault: Detail = {"cause": str(error)} if is_known else {"traceback": traceback.format_exc()}
        match.close()
        return match.result(Ending(Outcome.VOID, Termination.ARENA_ERROR, fault))
    except BaseException:
        match.close()
        raise


def play_matches(  # noqa: PLR0913 - one keyword per option
    game: Game,
    bots: tuple[Bot, Bot],
    num_matches: int,
    *,
    control: TimeControl | None = None,
    opening: tuple[int, ...] = (),
    seed: int = 0,
) -> Iterator[MatchResult]:
    """Play two bots against each other in this process, refereed like any match; for trusted bots only.

    Args:
        game: the rules.
        bots: labelled A and B; A moves first in matches 0, 2, 4, …, B in the others.
        num_matches: number of matches.
        control: time control of both bots; the default is 5 seconds per move.
        opening: actions that begin every match.
        seed: seed of all randomness. A bot's `new_match` is called with a new number for every match; a bot
            without that method plays on unchanged.

    Yields:
        Each result as soon as its match is over.
    """
    rng = Random(seed)  # noqa: S311 - not used for secrets
    control = control or TimeControl.parse(None, None, None)
    seats, labels = (_seat_of(bots[0], "A"), _seat_of(bots[1], "B")), ("A", "B")
    for number in range(num_matches):
        setup = MatchSetup(
            id=str(number),
            labels=labels,
            seeds=(rng.getrandbits(53), rng.getrandbits(53)),
            controls=(control, control),
            opening=opening,
        )
        yield play_match(game, seats, setup)
        seats, labels = (seats[1], seats[0]), (labels[1], labels[0])


def _seat_of(bot: Bot, label: str) -> InProcessSeat:
    def make(_: Game, seed: int) -> Bot:
        new_match = getattr(bot, "new_match", None)
        if callable(new_match):
            new_match(seed)
        return bot

    return InProcessSeat(make, name=label, version="")


class _Hooks(msgspec.Struct, frozen=True):
    on_ready: Callable[[Record], None] | None
    on_move: Callable[[int, int, Answer], None] | None
    news: NewsGate[Thoughts] | None
    abort: Callable[[], bool] | None
    adjudicate: Callable[[State], Outcome | None] | None


class _Match:
    """A match in progress."""

    def __init__(
        self,
        game: Game,
        seats: tuple[Seat, Seat],
        setup: MatchSetup,
        hooks: _Hooks,
        *,
        stalls_count: bool,
    ) -> None:
        self._game = game
        self._seats = seats
        self._setup = setup
        self._hooks = hooks
        self._stalls_count = stalls_count
        self._clock = GameClock(setup.controls)
        self._state = game.initial_state()
        self._record = Record(setup.opening)
        self._fast_seats: tuple[FastSeat, FastSeat] | None = None
        self._ruling: Outcome | None = None
        self._is_on = False
        self._started_at = time.time()
        self._began = time.monotonic()

    def play(self) -> Ending:
        """Play to the end and tell both bots that the match is over."""
        for action in self._setup.opening:
            self._state = self._state.child(action)
        if self._state.is_terminal:
            raise ArenaError(f"the opening {list(self._setup.opening)} ends the game")
        ending = self._start() or self._judge_idle(self._alternate())
        first, second = self._seats
        first.finish(ending.outcome, ending.termination)
        second.finish(ending.outcome, ending.termination)
        return ending

    def close(self) -> None:
        """Close both seats, because the state of their bots is unknown."""
        for seat in self._seats:
            with suppress(Exception):
                seat.close()

    def result(self, ending: Ending) -> MatchResult:
        """Assemble the result."""
        setup, record = self._setup, self._record
        first, second = self._seats
        tier = first.tier if second.tier is first.tier else min(first.tier, second.tier)
        # A bot judged after the end of the match failed while it waited for the last ply.
        ply = (len(record.actions) + (not self._state.is_terminal)) * self._is_on
        how = self._game.ending(self._state) if ending.termination is _RULES else ""
        return MatchResult(
            outcome=ending.outcome,
            termination=ending.termination,
            reason=reason(ending, setup.labels, how, ply),
            rated=ending.outcome is not _VOID,
            actions=tuple(record.actions),
            num_opening=len(setup.opening),
            times_ms=record.times_ms(),
            infos=record.infos(),
            fault=ending.fault,
            fault_player=ending.fault_player,
            started_at=self._started_at,
            duration_ms=round((time.monotonic() - self._began) * 1000),
            tier=str(tier),
            idle_cpu_ms=(_idle_ms(first), _idle_ms(second)),
            limits=_POLLED if _POLLED in {first.limits, second.limits} else first.limits or second.limits,
            runtimes=(first.runtime, second.runtime),
        )

    def _start(self) -> Ending | None:
        first, second = self._start_seat(0), self._start_seat(1)
        for fault in (first, second):
            if fault is not None and self._is_void(fault):
                return _stalled(fault)
        if first is None:
            return None if second is None else _forfeit(1, second)
        if second is None:
            return _forfeit(0, first)
        return Ending(Outcome.VOID, first.termination, first.detail)

    def _start_seat(self, player: int) -> Forfeit | None:
        setup = self._setup
        seat_setup = SeatSetup(
            match=setup.id,
            game=self._game,
            player=player,
            seed=setup.seeds[player],
            control=setup.controls[player],
            init_s=setup.init_s,
            news=self._hooks.news,
        )
        return self._seats[player].start(seat_setup)

    def _alternate(self) -> Ending:
        self._is_on = True
        if self._hooks.on_ready is not None:
            self._hooks.on_ready(self._record)
        if self._hooks.on_move is None and self._hooks.adjudicate is None:
            self._fast_seats = fast_seats_of(self._seats)
        while (answer := self._next_answer()) is not None:
            player = self._state.current_player
            if isinstance(answer, Resignation):
                self._clock.charge(player, answer.elapsed_s)
                return Ending(_WINS[1 - player], Termination.RESIGN)
            if isinstance(answer, Forfeit):
                return self._failed(player, answer)
            self._accept(player, answer)
        if self._ruling is not None:
            return Ending(self._ruling, Termination.ADJUDICATED)
        if not self._state.is_terminal:
            return Ending(Outcome.VOID, Termination.ABORTED)
        returns = self._state.returns
        if returns[0] == returns[1]:
            return Ending(_DRAW, _RULES)
        return Ending(_WINS[0 if returns[0] > returns[1] else 1], _RULES)

    def _next_answer(self) -> Answer | Resignation | Forfeit | None:
        """Return the next answer to judge; None if the match is over, adjudicated or aborted."""
        state, abort, adjudicate = self._state, self._hooks.abort, self._hooks.adjudicate
        if self._fast_seats is not None:
            self._state, answer = play_fast(self._fast_seats, state, self._record, self._clock, abort)
            return answer
        if state.is_terminal or (abort is not None and abort()):
            return None
        self._ruling = None if adjudicate is None else adjudicate(state)
        if self._ruling is not None:
            return None
        seat = self._seats[state.current_player]
        return seat.ask(state, len(self._setup.opening), self._clock)

    def _judge_idle(self, ending: Ending) -> Ending:
        """Return the ending after judging bots that pondered while they had to wait.

        A bot that pondered forfeits, however the match ended; if both pondered, the match is void. A bot that
        was asked for a move was judged before that question; here only bots that waited at the end are
        judged.
        """
        if ending.outcome is _VOID:
            return ending
        first = self._seats[0].check_idle(self._clock.thought_s(1))
        second = self._seats[1].check_idle(self._clock.thought_s(0))
        fault = first or second
        if fault is None:
            return ending
        if ending.termination is Termination.PONDERING or (first is not None and second is not None):
            return Ending(_VOID, Termination.PONDERING, fault.detail)
        return _forfeit(0 if first is not None else 1, fault)

    def _accept(self, player: int, answer: Answer) -> None:
        answer.charge(self._clock, player)
        self._state = self._state.child(answer.action)
        self._record.add(answer)
        news, on_move = self._hooks.news, self._hooks.on_move
        if news is not None:
            news.drop()
        if on_move is not None:
            on_move(len(self._record.actions) - 1, answer.action, answer)

    def _is_void(self, fault: Forfeit) -> bool:
        return fault.is_stall and not self._stalls_count

    def _failed(self, player: int, fault: Forfeit) -> Ending:
        elapsed_ms = fault.detail.get("elapsed_ms")
        if isinstance(elapsed_ms, float):
            self._clock.charge(player, elapsed_ms / 1000)
        if fault.termination is Termination.ABORTED:
            return Ending(Outcome.VOID, Termination.ABORTED)
        if self._is_void(fault):
            return _stalled(fault)
        other = None if self._record.num_played else self._seats[1 - player].check()
        if other is None:
            return _forfeit(player, fault)
        first = fault if player == 0 else other
        return Ending(Outcome.VOID, first.termination, first.detail)


def _idle_ms(seat: Seat) -> float | None:
    return None if (idle_s := seat.idle_cpu_s) is None else round(idle_s * 1000, 3)


def _forfeit(player: int, fault: Forfeit) -> Ending:
    return Ending(_WINS[1 - player], fault.termination, fault.detail, player)


def _stalled(fault: Forfeit) -> Ending:
    verdict: Detail = {"verdict": fault.termination.value}
    return Ending(Outcome.VOID, Termination.ARENA_STALL, verdict | fault.detail)

"""Processes a person's commands: answers them, computes hints, or passes them to the seat or coordinator."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Literal, NamedTuple

from arena.analysis import has_solver
from arena.coordinator.commands import (
    AbortRun,
    AskHint,
    MakeMove,
    NextMatch,
    PauseRun,
    ResignMatch,
    ResumeRun,
    StopRun,
    TakeBack,
    read_command,
)
from arena.entrants import resolve
from arena.errors import ArenaError
from arena.executor.preflight import describe_fault
from arena.executor.worker_seats import keep_compiled, make_seat
from arena.live.plain import eval_text
from arena.live.views import percent_for_first
from arena.referee.clock import GameClock
from arena.referee.seats import Answer, Resignation, SeatSetup
from arena.referee.timecontrol import TimeControl

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.coordinator.commands import BoardCommand
    from arena.entrants import Competitor
    from arena.referee.seats import Seat
    from arena.sandbox.tier import Tier
    from arena_db.records import CommandRecord
    from arena_plugins import Game, State

NOBODY_S = 900.0
"""Seconds without a first command after which the person counts as absent: the screen may have been
killed."""

Step = Literal["undo", "new"]
"""A request of the person for the time after a match, other than to end the session."""


class SeatOrder(NamedTuple):
    """An instruction for the seat of the person."""

    kind: Literal["move", "resign", "hint"]
    t: float
    """Arrival time, by `time.monotonic`."""
    action: int = -1
    command: int = 0
    """For a hint: id of the command that awaits an answer."""


class SessionCommands:
    """Handles the commands of a session; they arrive in another thread than that of the match."""

    def __init__(self, *, may_take_back: bool) -> None:
        """Wait for the first match.

        Args:
            may_take_back: whether undo and hints are allowed.
        """
        self._may_take_back = may_take_back
        self._lock = threading.Lock()
        self._orders: SimpleQueue[SeatOrder] = SimpleQueue()
        self._step: Step | None = None
        self._number = 0
        self._state: State | None = None
        self._person = 0
        self._can_undo = False
        self._is_asked = False
        self._is_over = True
        self._must_end = False
        self._ends_at_once = False
        self._has_heard = False
        """Whether the person ever sent a command."""
        self._began = time.monotonic()

    def begin(self, number: int, state: State, person: int, *, can_undo: bool) -> None:
        """Start a match.

        Args:
            number: number of the match.
            state: initial position of the match.
            person: which player the person is, 0 or 1.
            can_undo: whether the person has made a move that can be taken back.
        """
        with self._lock:
            self._orders, self._step = SimpleQueue(), None
            self._number, self._state, self._person = number, state, person
            self._can_undo = can_undo
            self._is_asked = self._is_over = self._must_end = False

    def moved(self, action: int) -> None:
        """Note that the person has played a legal action."""
        with self._lock:
            if self._state is not None:
                self._state = self._state.child(action)
            self._can_undo, self._is_asked = True, False

    def turn(self, state: State) -> None:
        """Note that the person is asked for a move."""
        with self._lock:
            self._state, self._is_asked = state, True

    def over(self) -> None:
        """Note that the match has ended."""
        with self._lock:
            self._is_over, self._is_asked = True, False

    def abort(self) -> None:
        """End the current match at once, and any match that starts meanwhile."""
        self._ends_at_once = True

    @property
    def must_end(self) -> bool:
        """Whether the match must end at once, without a result."""
        return self._must_end or self._ends_at_once or self.is_deserted

    @property
    def is_deserted(self) -> bool:
        """Whether the person never sent a command, so that nobody is waiting for this match."""
        return not self._has_heard and time.monotonic() - self._began >= NOBODY_S

    @property
    def step(self) -> Step | None:
        """The person's request for the time after this match; None if there is none yet."""
        return self._step

    def next_order(self, seconds: float) -> SeatOrder | None:
        """Wait up to `seconds` for the next instruction for the person's seat; None if there is none."""
        with suppress(Empty):
            return self._orders.get(timeout=max(0.0, seconds))
        return None

    def hear(self, row: CommandRecord) -> str | None:
        """Execute a command; return the answer, or None if the answer follows later."""
        command = read_command(row)
        with self._lock:
            if isinstance(command, StopRun | AbortRun):
                return self._stop(at_once=isinstance(command, AbortRun))
            if isinstance(command, PauseRun | ResumeRun):
                return f"a person at the board cannot ask for {row.kind}"
            if command is None:
                return f"this {row.kind} cannot be read"
            self._has_heard = True
            if command.number != self._number:
                return f"match {command.number} is not the one that is played"
            return self._obey(row.id, command)

    def _obey(self, number: int, command: BoardCommand) -> str | None:
        """Execute a command of the person; `number` is the id of its row."""
        if isinstance(command, TakeBack):
            return self._undo()
        if isinstance(command, NextMatch):
            return self._new()
        refusal = self._refusal(command)
        if refusal:
            return refusal
        if isinstance(command, MakeMove):
            return self._move(command)
        if isinstance(command, AskHint):
            self._orders.put(SeatOrder("hint", time.monotonic(), command=number))
            return None
        self._is_asked = False
        self._orders.put(SeatOrder("resign", time.monotonic()))
        return "you resign"

    def _refusal(self, command: MakeMove | AskHint | ResignMatch) -> str:
        """Return why a command is refused; empty if it is accepted."""
        is_about_ply = not isinstance(command, ResignMatch)
        ply = 0 if self._state is None else len(self._state.history)
        reasons = (
            (self._is_over, "the match is over"),
            (isinstance(command, AskHint) and not self._may_take_back, "no hints: this match is rated"),
            (is_about_ply and command.ply != ply, f"ply {command.ply + 1} is past"),
            (is_about_ply and not self._is_asked, "not your turn"),
        )
        return next((text for is_true, text in reasons if is_true), "")

    def _move(self, command: MakeMove) -> str:
        if self._state is None or command.action not in self._state.legal_actions:
            return f"action {command.action} cannot be played here"
        # A second click is too late, even if the first move has not been played yet.
        self._is_asked = False
        self._orders.put(SeatOrder("move", time.monotonic(), action=command.action))
        return "played"

    def _undo(self) -> str:
        if not self._may_take_back:
            return "no undo: this match is rated"
        if not self._can_undo:
            return "there is no move of yours to take back"
        self._go_on_with("undo")
        return "taken back"

    def _new(self) -> str:
        if not self._may_take_back and not self._is_over:
            return "this match is rated; resign it first"
        self._go_on_with("new")
        return "a new match, sides swapped"

    def _stop(self, *, at_once: bool) -> str:
        # If the person never sent a command, nobody would finish the match, so it ends at once.
        at_once = at_once or not self._has_heard
        self._ends_at_once = self._ends_at_once or at_once
        return "this match ends now" if at_once else "no further match begins"

    def _go_on_with(self, step: Step) -> None:
        # Only the first request counts; repeated ones change nothing.
        self._step = self._step or step
        self._must_end = True
        self._can_undo = False


HINT_S = 3.0
"""Seconds for a hint, unless the bot that computes hints has its own limit: the person is waiting."""
_MARGIN_MS = 20_000
"""Milliseconds by which a hint may be late: the first one may include compiling."""
_SOLVER = "solver"
_OTHER = "minimax"


class Hinter:
    """Requests hints from one bot, which is started for the first hint."""

    def __init__(self, game: Game, competitor: Competitor, tier: Tier, init_s: float) -> None:
        """Prepare to ask a bot.

        Args:
            game: the game.
            competitor: the bot.
            tier: isolation tier.
            init_s: seconds it may take to start.
        """
        self._game = game
        self._competitor = competitor
        self._tier = tier
        self._init_s = init_s
        self._seat: Seat | None = None

    def ask(self, state: State) -> str:
        """Return a hint: the move, then the bot's name and its evaluation.

        If the bot fails, the text starts with `no hint`.
        """
        label = self._competitor.label
        control = self._competitor.limit or TimeControl.parse(None, HINT_S, None, margin_ms=_MARGIN_MS)
        player = state.current_player
        setup = SeatSetup(
            match="hint", game=self._game, player=player, seed=0, control=control, init_s=self._init_s
        )
        try:
            if self._seat is None:
                self._seat = make_seat(self._competitor, self._game.name, self._tier, adjust=keep_compiled)
            found = self._seat.start(setup) or self._seat.ask(
                state, len(state.history), GameClock((control, control))
            )
        except ArenaError as error:
            return f"no hint: {error}"
        if isinstance(found, Resignation):
            return f"no hint: {label} would resign"
        if not isinstance(found, Answer):
            return f"no hint: {label}: {describe_fault(found)}"
        value = percent_for_first(found.thoughts.value, player)
        expects = "" if value is None else f", {eval_text(value)}"
        return f"{self._game.move(state, found.action)} is what {label} would play{expects}"

    def close(self) -> None:
        """Stop the bot."""
        if self._seat is not None:
            with suppress(Exception):
                self._seat.close()


class Hints:
    """Produces hints beside a match, one at a time; the person can move while waiting for one."""

    def __init__(self, make: Callable[[], Hinter], answer: Callable[[int, str], None]) -> None:
        """Prepare to produce hints; nothing is started before the first one is requested.

        Args:
            make: creates the hinter; an ArenaError that it raises becomes the answer.
            answer: called as `answer(command, text)`, in another thread.
        """
        self._make = make
        self._answer = answer
        self._wanted: SimpleQueue[tuple[State, int] | None] = SimpleQueue()
        self._hinter: Hinter | None = None
        self._thread: threading.Thread | None = None
        self._is_busy = self._is_closed = False
        self._lock = threading.Lock()

    def ask(self, state: State, command: int) -> None:
        """Request a hint, which becomes the answer to a command."""
        with self._lock:
            is_busy, self._is_busy = self._is_busy, True
        if is_busy:
            self._answer(command, "no hint: the previous one is still being computed")
            return
        if self._thread is None:
            # One thread serves all hints, since a process ends with the thread that started it.
            self._thread = threading.Thread(target=self._run, name="hints", daemon=True)
            self._thread.start()
        self._wanted.put((state, command))

    def close(self) -> None:
        """Stop the bot, even during a hint, and accept no further requests."""
        self._is_closed = True
        self._wanted.put(None)
        hinter = self._hinter
        if hinter is not None:
            hinter.close()
        if self._thread is not None:
            self._thread.join()
        if hinter is None and self._hinter is not None:
            self._hinter.close()

    def _run(self) -> None:
        while (wanted := self._wanted.get()) is not None:
            state, command = wanted
            try:
                if self._hinter is None:
                    self._hinter = self._make()
                text = self._hinter.ask(state)
            except ArenaError as error:
                text = f"no hint: {error}"
            except (OSError, ValueError):
                # The bot was stopped during the question, so nobody waits for the hint.
                if not self._is_closed:
                    raise
                return
            with self._lock:
                self._is_busy = False
            self._answer(command, text)


def default_hinter(game: Game) -> Competitor:
    """Return the default bot for hints: the solver if it supports the game."""
    spec = _SOLVER if has_solver(game) else _OTHER
    return resolve([spec], margin_ms=50)[0]

"""Hints: a third bot, in a process of its own, is asked for its move."""

from __future__ import annotations

import threading
from contextlib import suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING

from arena.analysis import has_solver
from arena.entrants import resolve
from arena.errors import ArenaError
from arena.executor.preflight import describe_fault
from arena.executor.worker_seats import make_seat
from arena.live.plain import eval_text
from arena.live.views import percent_for_first
from arena.referee.clock import GameClock
from arena.referee.seats import Answer, Resignation, SeatSetup
from arena.referee.timecontrol import TimeControl

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.entrants import Competitor
    from arena.referee.seats import Seat
    from arena.sandbox.tier import Tier
    from arena_plugins import Game, State

HINT_S = 3.0
"""Seconds for a hint, unless the bot that gives it has its own limit: the person is waiting."""
_MARGIN_MS = 20_000
"""Milliseconds by which it may be late: its first answer may include compiling."""
_SOLVER = "solver"
_OTHER = "minimax"


class Hinter:
    """Asks one bot for hints; the bot is started at the first one."""

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
        """Return a hint: the move as its first word, then the bot's name and its evaluation.

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
                self._seat = make_seat(self._competitor, self._game.name, self._tier, keeps_compiled=True)
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
        """Set source and destination of hints; nothing is started before the first one is requested.

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
        """Request a hint, with which a command is then answered."""
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

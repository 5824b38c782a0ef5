"""The conformance kit for bots that are, or start, a program: each bot of the kit is a seat."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from arena.executor.preflight import describe_fault, is_refused_option
from arena.executor.worker_seats import make_seat
from arena.executor.workspace import workspace
from arena.referee.clock import GameClock
from arena.referee.seats import Answer, Forfeit, SeatSetup
from arena.referee.timecontrol import TimeControl
from arena_plugins import BotError, OptionError, Outcome, PlayResult, Termination
from arena_plugins.conformance import check_bot
from arena_plugins.program import EXEC, exec_command

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arena.entrants import Competitor
    from arena.referee.seats import Seat
    from arena.sandbox.tier import Tier
    from arena_plugins import Game, Limit, State
    from arena_plugins.conformance import Check

_MAX_SEATS = 3
"""Programs that run at once; no check of the kit asks more than two bots in turns."""
_MARGIN_MS = 60_000
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
            BotError: it gave no answer that a match would accept.
        """
        seconds = None if limit.seconds is None else max(limit.seconds, 0.001)
        control = TimeControl.parse(None, seconds, limit.nodes, margin_ms=_MARGIN_MS)
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
            seats.pop(0).close()
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

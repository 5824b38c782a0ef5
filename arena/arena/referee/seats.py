"""The interface between the referee and a player, and the types of its answers."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol

import msgspec

from arena.referee.remarks import NewsGate
from arena.referee.timecontrol import TimeControl
from arena_plugins.contract import Game, Termination
from arena_plugins.thoughts import UNSAID, Thoughts

if TYPE_CHECKING:
    from arena.referee.clock import GameClock
    from arena.sandbox.tier import Tier
    from arena_plugins.contract import Outcome, State

Detail = dict[str, str | int | float | None]
"""The evidence of a fault, as plain data for JSON."""


class Answer(msgspec.Struct, frozen=True):
    """A legal action that arrived in time."""

    action: int
    elapsed_s: float
    """Seconds from the question to the answer."""
    thoughts: Thoughts
    given_back_s: float = 0.0
    """Seconds of `elapsed_s` that are excused because the machine delayed the bot near its deadline."""

    def charge(self, clock: GameClock, player: int) -> None:
        """Charge the time to the player's clock, less the excused seconds."""
        clock.charge(player, self.elapsed_s - self.given_back_s)


class Record:
    """The record of a match's actions and answers, opening included."""

    __slots__ = ("_answers", "_num_opening", "actions")

    def __init__(self, opening: tuple[int, ...] = ()) -> None:
        self._num_opening = len(opening)
        self._answers: dict[int, tuple[Answer, float]] = {}
        self.actions = list(opening)
        """The actions played; an action without an answer took no time and has no thoughts."""

    @property
    def num_played(self) -> int:
        """Number of actions that the bots themselves have played."""
        return len(self.actions) - self._num_opening

    def add(self, answer: Answer) -> None:
        """Append an accepted answer; another thread may read the record at any time."""
        # In this order: a reader that sees the action also finds its answer.
        self._answers[len(self.actions)] = answer, time.time()
        self.actions.append(answer.action)

    def answer(self, index: int) -> tuple[Answer, float] | None:
        """Return the answer of `actions[index]` and its time in UTC seconds, or None if it has no answer."""
        return self._answers.get(index)

    def times_ms(self) -> tuple[int, ...]:
        """Return the elapsed milliseconds per action; 0 in the opening."""
        if not self._answers:
            return (0,) * len(self.actions)
        times = [0] * len(self.actions)
        for ply, (answer, _) in self._answers.items():
            times[ply] = round(answer.elapsed_s * 1000)
        return tuple(times)

    def infos(self) -> tuple[Thoughts | None, ...]:
        """Return the mover's thoughts per action; None in the opening."""
        if not self._answers:
            return (None,) * self._num_opening + (UNSAID,) * self.num_played
        infos = [None] * self._num_opening + [UNSAID] * self.num_played
        for ply, (answer, _) in self._answers.items():
            infos[ply] = answer.thoughts
        return tuple(infos)


class Resignation(msgspec.Struct, frozen=True):
    """The bot resigns the match."""

    elapsed_s: float
    """Seconds from the question to the answer."""


class Forfeit(msgspec.Struct, frozen=True):
    """The bot forfeits; the seat of a person who takes the match back returns one with `aborted`."""

    termination: Termination
    detail: Detail
    is_stall: bool = False
    """Whether the arena or the machine may be to blame for the late answer."""


class SeatSetup(msgspec.Struct, frozen=True, kw_only=True):
    """One player's side of a match."""

    match: str
    """The id of the match, as sent to the bot."""
    game: Game
    player: int
    """0 moves first, 1 moves second."""
    seed: int
    """The bot's seed, below 2^53."""
    control: TimeControl
    init_s: float = 60.0
    """Seconds from spawn to `hello`, and again from `new_match` to `ready`."""
    news: NewsGate[Thoughts] | None = None
    """Receives the bot's remarks while it thinks."""


class Seat(Protocol):
    """A place at the board with a bot in it; it plays many matches, one at a time."""

    @property
    def name(self) -> str:
        """The bot's registered name; what the bot says of itself does not count."""
        ...

    @property
    def version(self) -> str:
        """The bot's registered version."""
        ...

    @property
    def tier(self) -> Tier:
        """The isolation tier of the bot."""
        ...

    @property
    def deterministic(self) -> bool:
        """Whether the bot declared at the last `start` that only seed and node limit decide its actions."""
        ...

    @property
    def limits(self) -> str:
        """How memory, tasks and CPU are limited: `kernel`, `polled`, or empty without limits."""
        ...

    @property
    def runtime(self) -> str:
        """The runtime of the bot's code, such as `python 3.11.2`; empty if unknown."""
        ...

    @property
    def idle_cpu_s(self) -> float | None:
        """CPU seconds the bot used in this match while it had to wait; None if not measured."""
        ...

    def start(self, setup: SeatSetup) -> Forfeit | None:
        """Prepare the bot for a match; return a fault if it did not become ready."""
        ...

    def ask(self, state: State, num_opening: int, clock: GameClock) -> Answer | Resignation | Forfeit:
        """Ask for an action in `state`, whose first `num_opening` actions were preset; charge no clock."""
        ...

    def check(self) -> Forfeit | None:
        """Check, without asking a question, that the bot is alive and silent."""
        ...

    def check_idle(self, opponent_s: float) -> Forfeit | None:
        """Measure the CPU time the bot used while it had to wait; too much is the fault `pondering`.

        Args:
            opponent_s: seconds that its opponent has thought in this match.
        """
        ...

    def finish(self, outcome: Outcome, termination: Termination) -> None:
        """Tell the bot that the match is over."""
        ...

    def close(self) -> None:
        """End the bot and remove its files; a later `start` starts it anew."""
        ...

"""What the referee asks of a player, and what it gets back."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

import msgspec

from arena.referee.news import NewsGate
from arena.referee.timecontrol import TimeControl
from arena_plugins.contract import Game, Termination

if TYPE_CHECKING:
    from arena.referee.clock import GameClock
    from arena.sandbox.tier import Tier
    from arena_plugins.contract import Outcome, State

Detail = dict[str, str | int | float | None]
"""The evidence of a fault: plain data, ready for JSON."""


class Thoughts(msgspec.Struct, frozen=True, kw_only=True):
    """What a bot said about the position it moved in: shown and stored, never trusted, but checked."""

    value: float | None = None
    """Expected result for the side to move, in [-1, 1]."""
    policy: Mapping[int, float] | None = None
    """Probability per legal action; sums to 1 within 1e-3."""
    visits: Mapping[int, int] | None = None
    """Search visits per legal action."""
    pv: tuple[int, ...] | None = None
    """Principal variation, from this position on."""
    nodes: int | None = None
    """Search nodes used."""
    depth: int | None = None
    """Search depth in plies."""
    text: str | None = None
    """A remark, cleaned, at most 200 characters."""
    num_dropped: int = 0
    """How many of these were given but were not what they must be, and so left out."""


UNSAID = Thoughts()
"""The thoughts of a bot that gave nothing but an action."""


class Answer(msgspec.Struct, frozen=True):
    """A legal action, given in time."""

    action: int
    elapsed_s: float
    """Seconds from the question to the answer."""
    thoughts: Thoughts
    given_back_s: float = 0.0
    """How many of them were excused because the machine kept the bot from answering near its deadline."""

    def charge(self, clock: GameClock, player: int) -> None:
        """Charge its time to the player's clock, less what the bot was given back."""
        clock.charge(player, self.elapsed_s - self.given_back_s)


class Record:
    """What is kept of the actions of a match, the opening's first."""

    __slots__ = ("_answers", "_num_opening", "actions")

    def __init__(self, opening: tuple[int, ...] = ()) -> None:
        self._num_opening = len(opening)
        self._answers: dict[int, tuple[Answer, float]] = {}
        self.actions = list(opening)
        """What was played; an action put here without its answer took no time and came without a word."""

    @property
    def num_played(self) -> int:
        """How many actions the bots themselves have played."""
        return len(self.actions) - self._num_opening

    def add(self, answer: Answer) -> None:
        """Keep an answer that was accepted; another thread may read what is there at any time."""
        self._answers[len(self.actions)] = answer, time.time()
        self.actions.append(answer.action)

    def answer(self, index: int) -> tuple[Answer, float] | None:
        """Give what `actions[index]` came with, and when, UTC seconds; None where it came without a word."""
        return self._answers.get(index)

    def times_ms(self) -> tuple[int, ...]:
        """Give the elapsed milliseconds per action; 0 in the opening."""
        if not self._answers:
            return (0,) * len(self.actions)
        times = [0] * len(self.actions)
        for ply, (answer, _) in self._answers.items():
            times[ply] = round(answer.elapsed_s * 1000)
        return tuple(times)

    def infos(self) -> tuple[Thoughts | None, ...]:
        """Give what the mover said, per action; None in the opening."""
        if not self._answers:
            return (None,) * self._num_opening + (UNSAID,) * self.num_played
        infos = [None] * self._num_opening + [UNSAID] * self.num_played
        for ply, (answer, _) in self._answers.items():
            infos[ply] = answer.thoughts
        return tuple(infos)


class Resignation(msgspec.Struct, frozen=True):
    """The bot gives the match up."""

    elapsed_s: float
    """Seconds from the question to the answer."""


class Fault(msgspec.Struct, frozen=True):
    """The bot forfeits; `aborted` is what the seat of a person gives who takes the match back."""

    termination: Termination
    detail: Detail
    is_stall: bool = False
    """The arena, or the machine, may be to blame that the bot was too late."""


class SeatSetup(msgspec.Struct, frozen=True, kw_only=True):
    """One player's side of a match."""

    match: str
    """Id of the match, as the bot is told."""
    game: Game
    player: int
    """0 moves first, 1 second."""
    seed: int
    """Below 2^53."""
    control: TimeControl
    init_s: float = 60.0
    """Seconds from spawn to `hello`, and again from `new_match` to `ready`."""
    news: NewsGate[Thoughts] | None = None
    """Takes what a bot says while it thinks."""


class Seat(Protocol):
    """A place at the board with a bot in it; one seat plays many matches, one after the other."""

    @property
    def name(self) -> str:
        """Name of the bot as registered; what the bot says of itself does not count."""
        ...

    @property
    def version(self) -> str:
        """Version of the bot as registered."""
        ...

    @property
    def tier(self) -> Tier:
        """How the bot is kept apart."""
        ...

    @property
    def deterministic(self) -> bool:
        """Whether the bot said, at the last `start`, that seed and node limit alone decide its actions."""
        ...

    @property
    def limits(self) -> str:
        """How the bot's memory, tasks and CPU are limited: `kernel`, `polled`, or empty if they are not."""
        ...

    @property
    def runtime(self) -> str:
        """What runs the bot's code, such as `python 3.11.2`; empty if that is unknown."""
        ...

    @property
    def idle_cpu_s(self) -> float | None:
        """Seconds of CPU the bot has used in this match while it had to wait; None if nobody measures it."""
        ...

    def start(self, setup: SeatSetup) -> Fault | None:
        """Get the bot ready for a match; a fault means that it never was."""
        ...

    def ask(self, state: State, num_opening: int, clock: GameClock) -> Answer | Resignation | Fault:
        """Ask for an action in `state`, whose first `num_opening` actions were given; charges no clock."""
        ...

    def check(self) -> Fault | None:
        """Look, without asking, whether the bot is still in order."""
        ...

    def check_idle(self, opponent_s: float) -> Fault | None:
        """Measure the CPU the bot has used while it had to wait; the fault is `pondering`.

        Args:
            opponent_s: seconds its opponent has thought in this match.
        """
        ...

    def finish(self, outcome: Outcome, termination: Termination) -> None:
        """Tell the bot that the match is over."""
        ...

    def close(self) -> None:
        """End the bot and clear its traces; `start` after this begins afresh."""
        ...

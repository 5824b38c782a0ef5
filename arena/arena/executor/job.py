"""A planned match as plain data, ready to be sent to a worker."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Literal

import msgspec

from arena.analysis import adjudicator
from arena.entrants import Competitor
from arena.referee.timecontrol import TimeControl
from arena.sandbox.limits.exact import Limits
from arena_plugins import load_game

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena_plugins import Game, Outcome, State


BotOutput = Literal["all", "faults", "none"]


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a worker needs to play one planned match."""

    tournament: int
    """Id of the tournament."""
    number: int
    """Number of the planned match, from 1."""
    attempt: int
    """Number of earlier attempts at this match, all of them void."""
    match: str
    """Id of the match in arena-bot/1 messages."""
    game: str
    """Spec of the game."""
    first: Competitor
    second: Competitor
    opening: tuple[int, ...]
    seed_first: int
    seed_second: int
    limit: TimeControl
    """Time control for a bot without one of its own."""
    init_s: float
    """Seconds a bot may take to start."""
    tier: str
    """Isolation tier in which the bots run."""
    require_limits: Limits | None = None
    """`kernel` makes the match void if the kernel does not enforce the bots' limits."""
    stalls_count: bool = False
    """Whether a bot that is late loses even if the arena may have caused the delay."""
    log: bool = False
    """Whether all messages of the match are logged to a file, not only after a fault."""
    bot_output: BotOutput = "faults"
    """The matches for which the output of bots is kept."""
    rated: bool = True
    """Whether the match counts for ratings; those of a sequential test do not."""
    shows_clock: bool = True
    """Whether viewers see clocks; false for a person without a limit, who has a nominal hour per move."""
    scales_time: bool = False
    """Whether a worker machine multiplies the seconds of both bots by its `time_scale`."""
    adjudicate: int = 0
    """Node limit of the exact solver for deciding a position before it is played out; 0 disables it."""

    @property
    def tournament_name(self) -> str:
        """Name of the tournament."""
        return self.match.rpartition("/")[0]

    def scaled(self, factor: float) -> Job:
        """Return the job with the times of both bots multiplied."""
        first, second = (
            bot if bot.limit is None else msgspec.structs.replace(bot, limit=bot.limit.scaled(factor))
            for bot in (self.first, self.second)
        )
        return msgspec.structs.replace(self, first=first, second=second, limit=self.limit.scaled(factor))


@cache
def cached_game(spec: str) -> Game:
    """Return the rules of a spec, one object for all matches of this process.

    Raises:
        PluginError: there is no such game.
    """
    return load_game(spec)


@cache
def cached_adjudicator(spec: str, nodes: int) -> Callable[[State], Outcome | None] | None:
    """Return the function that decides matches of a game early, cached per process; None if `nodes` is 0.

    Raises:
        ArenaError: there is no solver for the game.
    """
    return adjudicator(cached_game(spec), nodes=nodes) if nodes else None

"""A match as pure data, ready to be sent to a worker."""

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
    """Everything a worker must know to play one planned match."""

    tournament: int
    """Id of the tournament."""
    number: int
    """Number of the planned match, from 1."""
    attempt: int
    """How many void attempts lie behind it."""
    match: str
    """What the match is called on the wire."""
    game: str
    """Spec of the game."""
    first: Competitor
    second: Competitor
    opening: tuple[int, ...]
    seed_first: int
    seed_second: int
    limit: TimeControl
    """For a bot without a limit of its own."""
    init_s: float
    """Seconds a bot may take to start."""
    tier: str
    """Isolation tier the bots run in."""
    require_limits: Limits | None = None
    """`kernel` makes the match void where the kernel does not limit the bots."""
    stalls_count: bool = False
    """Whether a bot that is too late loses even if the arena may be to blame."""
    log: bool = False
    """Whether what is said in it is written to a file in any case, not only after a fault."""
    bot_output: BotOutput = "faults"
    """Of which matches it is kept what the bots print."""
    rated: bool = True
    """Whether the match counts for ratings; those of a sequential test do not."""
    shows_clock: bool = True
    """Whether viewers see clocks; a person without one has an hour a move, which nobody counts down."""
    adjudicate: int = 0
    """Nodes in which the exact solver may decide a position before it is played out; 0 asks nobody."""


@cache
def cached_game(spec: str) -> Game:
    """Give the rules of a spec, one object for all matches of this process.

    Raises:
        PluginError: there is no such game.
    """
    return load_game(spec)


@cache
def cached_adjudicator(spec: str, nodes: int) -> Callable[[State], Outcome | None] | None:
    """Give what decides matches of a game early, one for all of this process; None if `nodes` is 0.

    Raises:
        ArenaError: there is no solver for the game.
    """
    return adjudicator(cached_game(spec), nodes=nodes) if nodes else None

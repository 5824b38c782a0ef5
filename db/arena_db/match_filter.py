"""Which matches a query is about: plain values, which `filters` turns into SQL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class OpeningFilter(NamedTuple):
    """Given actions that a match began with."""

    game: str
    """Canonical spec of the game they are actions of."""
    num_actions: int
    """Of the game."""
    actions: tuple[int, ...]
    is_beginning: bool = False
    """Whether more given actions may follow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchFilter:
    """Which matches a query is about; None is no condition. In names `*` is any text, `?` any character."""

    game: str | None = None
    tournament: str | None = None
    bot: str | None = None
    """Name, spec or label of a bot that played in it."""
    vs: str | None = None
    """Another bot that played in it."""
    since: float | None = None
    """UTC seconds, inclusive."""
    until: float | None = None
    """UTC seconds, exclusive."""
    pool: str | None = None
    termination: str | None = None
    min_tier: str | None = None
    outcome: str | None = None
    """first, second, draw or void."""
    plies: tuple[tuple[str, int], ...] = ()
    """Comparisons with the number of actions, those of the opening included, all of which hold: `("<", 20)`;
    signs are `<`, `<=`, `>`, `>=` and `=`."""
    durations: tuple[tuple[str, int], ...] = ()
    """Comparisons with the milliseconds that the match took."""
    mistakes: tuple[tuple[str, int], ...] = ()
    """Comparisons with the number of actions of bots that lost something, by one judge: only judged matches
    fit."""
    judge: str | None = None
    """Name of a judge that graded it."""
    is_graded: bool | None = None
    """Whether anybody graded it."""
    openings: tuple[OpeningFilter, ...] = ()
    """Given actions it began with: one of these."""
    limit: str | None = None
    """Limit of its pool, `5/move`, however bots were run."""
    tier: str | None = None
    """Exactly this isolation."""
    rated_only: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchSelection:
    """Matches to read in bulk, all of them with a result."""

    where: MatchFilter
    terminations: tuple[str, ...] = ()
    """Only matches that ended so; empty for all."""
    limit: int | None = None
    """The newest of them, at most so many; None for all."""
    include_void: bool = False
    """Whether those that somebody took out of all tables are read, too."""

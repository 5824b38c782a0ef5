"""Filters of matches: plain values, which `filters` turns into SQL."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SIGNS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
}
"""Comparisons by sign, of numbers or of columns."""


class OpeningFilter(NamedTuple):
    """The actions of an opening that matches began with."""

    game: str
    """Canonical spec of the game."""
    num_actions: int
    """Number of actions of the game."""
    actions: tuple[int, ...]
    is_beginning: bool = False
    """Whether the opening may have further actions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchFilter:
    """Conditions on matches; None is no condition. In names `*` matches any text, `?` any character."""

    game: str | None = None
    tournament: str | None = None
    bot: str | None = None
    """Name, spec or label of a bot that played in the match."""
    vs: str | None = None
    """Name, spec or label of another bot that played in it."""
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
    """Comparisons with the number of actions, opening included, which must all hold: `("<", 20)`; the signs
    are `<`, `<=`, `>`, `>=` and `=`."""
    durations: tuple[tuple[str, int], ...] = ()
    """Comparisons with the duration of the match in milliseconds."""
    mistakes: tuple[tuple[str, int], ...] = ()
    """Comparisons with the number of bots' mistakes by one judge; only completely analysed matches fit."""
    judge: str | None = None
    """Name of a judge that analysed the match."""
    is_graded: bool | None = None
    """Whether any judge analysed it."""
    openings: tuple[OpeningFilter, ...] = ()
    """The match began with one of these openings."""
    limit: str | None = None
    """Limit of its pool, such as `5/move`, for any kind of process."""
    tier: str | None = None
    """The exact isolation tier."""
    machine: str | None = None
    """Host name of the worker machine that played the match."""
    rated_only: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchSelection:
    """Matches to read in bulk, all of them with a result."""

    where: MatchFilter
    terminations: tuple[str, ...] = ()
    """Only matches that ended in one of these ways; empty for all."""
    limit: int | None = None
    """Maximum number of matches, the newest ones; None for all."""
    include_void: bool = False
    """Whether void matches are read, too."""

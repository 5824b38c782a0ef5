"""Analyses of stored matches, as frozen values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class JudgedAction(NamedTuple):
    """A judge's verdict about one of the legal actions."""

    action: int
    value: float | None
    """Expected result after it, for the side to move in [-1, 1]; None if unknown."""
    distance: int | None = None
    """Plies to the end under best play, this action included; None if unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedPly:
    """A judge's verdict about one played action; without any value, best action or score it is pending."""

    value: float | None = None
    """Expected result before it, for the side to move in [-1, 1]; None if unknown."""
    loss: float | None = None
    """By how much the action lowers the value: 2 from a win to a loss; None if unknown."""
    best: tuple[int, ...] = ()
    """The best actions, as far as known."""
    scores: tuple[JudgedAction, ...] = ()
    """All legal actions, ascending; empty in analyses of versions that did not keep them."""
    line: tuple[int, ...] = ()
    """The judge's principal variation from the position before the action: at most 8 actions, best one
    first."""

    @property
    def is_judged(self) -> bool:
        """Whether it is judged, rather than pending."""
        return self != JudgedPly()


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedMatch:
    """A judge's analysis of a match; an interrupted analysis lacks some plies."""

    match: int
    """Id of the match."""
    name: str
    """Name of the judge: `solver`, or the spec of a bot."""
    plies: tuple[JudgedPly, ...]
    """One per action."""
    made_at: float
    """UTC seconds."""
    identity: str = ""
    """Identity of the judging bot; empty for the solver."""

    @property
    def is_complete(self) -> bool:
        """Whether every ply is judged."""
        return all(ply.is_judged for ply in self.plies)

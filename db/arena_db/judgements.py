"""What judges say of stored matches, as frozen values in and out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class JudgedAction(NamedTuple):
    """What a judge says about one of the actions that were possible."""

    action: int
    value: float | None
    """Expected result after it, for the side to move in [-1, 1]; None where that is not known."""
    distance: int | None = None
    """Plies to the end under best play, the action included; None where that is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedPly:
    """What a judge says about one action; without any value, best action or score it is not judged yet."""

    value: float | None = None
    """Expected result before it, for the side to move in [-1, 1]; None where that is not known."""
    loss: float | None = None
    """By how much the action lowers it: 2 from a win to a loss; None where that is not known."""
    best: tuple[int, ...] = ()
    """The best actions, as far as known."""
    scores: tuple[JudgedAction, ...] = ()
    """All actions that were possible, ascending; empty in gradings of versions before they were kept."""
    line: tuple[int, ...] = ()
    """What the judge expects from the position before the action: at most 8 actions, its best one first."""

    @property
    def is_judged(self) -> bool:
        """Whether the judge has looked at it."""
        return self != JudgedPly()


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedMatch:
    """How a judge who did not play sees a match; a grading that was interrupted lacks some plies."""

    match: int
    """Number of the match in the store."""
    name: str
    """Who judges: `solver`, or the spec of a bot."""
    plies: tuple[JudgedPly, ...]
    """One per action."""
    made_at: float
    """UTC seconds."""
    identity: str = ""
    """Of the bot that judges; empty for the solver."""

    @property
    def is_complete(self) -> bool:
        """Whether every ply is judged."""
        return all(ply.is_judged for ply in self.plies)

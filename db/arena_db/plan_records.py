"""The frozen values of plans: planned matches, batches of them, and results as schedules read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedMatch:
    """A match that is to be played."""

    number: int
    """From 1 within the tournament."""
    encounter: int
    """Index of the two bots' encounter, from 0."""
    match_no: int
    """Index within the encounter, from 0; matches 2k and 2k + 1 are MatchPair k."""
    first: int
    """Seat of the entrant that moves first."""
    second: int
    """Seat of the entrant that moves second."""
    opening: tuple[int, ...]
    """Actions played before the bots are asked."""
    attempt: int = 0
    """Number of void attempts so far."""


@dataclass(frozen=True, slots=True)
class OpenPlan:
    """Stands for the matches of a new tournament that are planned later, batch by batch."""

    num_total: int | None = None
    """Total number of matches; None while it cannot be known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewBatch:
    """The next matches of a plan, before they are stored."""

    matches: Sequence[PlannedMatch]
    """At least one match; the numbers continue those of the plan."""
    num_total: int | None
    """Number of matches of the complete plan, this batch included; None while it cannot be known."""
    is_last: bool = False
    """Whether this batch completes the plan."""
    basis_match: int = 0
    """Highest id of a match known when this batch was planned."""
    basis_change: int = 0
    """Highest id of a change known when this batch was planned."""
    note: str = ""
    """Text for people: `round 4 of 7`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRecord:
    """A stored batch of a plan."""

    number: int
    """From 1 within the tournament."""
    first: int
    """Number of its first planned match."""
    last: int
    """Number of its last planned match."""
    basis_match: int = 0
    """As in `NewBatch`; 0 for batches without a basis, such as the plan of an older store."""
    basis_change: int = 0
    note: str = ""


class PairedResult(NamedTuple):
    """The part of a final match, one without further attempts, that a schedule reads.

    It is a tuple, because there may be hundreds of thousands.
    """

    id: int
    """Id of the match."""
    encounter: int
    match_no: int
    points: float | None
    """Points of the lower seat: 1, 0.5 or 0; None for a match without a result or declared void."""
    first: int
    """Seat of the bot that moved first."""
    second: int
    outcome: str
    """first, second, draw or void."""
    termination: str
    """Why it ended."""


class SeededMatch(NamedTuple):
    """The facts of a match given by the rules of the game and by the plan; a tuple, like `PackedMatch`."""

    id: int
    number: int
    outcome: str
    termination: str
    actions: bytes
    """As in `PackedMatch`."""
    num_opening: int
    seed_first: int
    seed_second: int
    encounter: int
    """Index of the encounter, copied from the plan like `match_no` and `opening`."""
    match_no: int
    opening: bytes

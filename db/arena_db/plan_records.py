"""The frozen values of plans: planned matches, batches of them, results as schedules see them."""

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
    """How many void attempts lie behind it."""


@dataclass(frozen=True, slots=True)
class OpenPlan:
    """In the place of the matches of a new tournament: they are planned later, batch by batch."""

    num_total: int | None = None
    """How many there will be; None where nobody can know yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewBatch:
    """The next matches of a plan, before they are stored."""

    matches: Sequence[PlannedMatch]
    """At least one, with the numbers that follow those of the plan."""
    num_total: int | None
    """Matches of the complete plan, those of the batch included; None where nobody can know yet."""
    is_last: bool = False
    """Whether the plan is complete with this batch."""
    basis_match: int = 0
    """The highest id of a match that was seen when this batch was planned."""
    basis_change: int = 0
    """The highest id of a change that was seen."""
    note: str = ""
    """For a person: `round 4 of 7`."""


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
    """As in `NewBatch`; 0 of batches without a basis, such as the plan of an older store."""
    basis_change: int = 0
    note: str = ""


class PairedResult(NamedTuple):
    """What a schedule sees of a final match; a tuple, as there may be hundreds of thousands."""

    id: int
    """Of the match."""
    encounter: int
    match_no: int
    points: float | None
    """Of the lower seat: 1, 0.5 or 0; None of a match without a result, or that somebody declared void."""
    first: int
    """Seat of the bot that moved first."""
    second: int
    outcome: str
    """first, second, draw or void."""
    termination: str
    """Why it ended."""


class SeededMatch(NamedTuple):
    """What the rules of a game and the plan of a tournament say of a match; a tuple, as `PackedMatch`."""

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
    """Of the plan, as `match_no` and `opening`."""
    match_no: int
    opening: bytes

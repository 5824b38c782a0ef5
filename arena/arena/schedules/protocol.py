"""What a schedule is asked, and what it answers.

A schedule has no state of its own and sees no clock, store or random number, so an event is resumed by asking
it again. Chance comes from `arena.pairing.sampling.draw_number` of the event's seed, a purpose and a number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arena_db.records import PlannedMatch

SeatState: TypeAlias = Literal["playing", "left", "out"]
MatchKey: TypeAlias = tuple[int, int]
"""Number of the encounter, and of the match in it."""


class Participant(NamedTuple):
    """Who has a seat of an event."""

    label: str
    """The name it is shown with, unique in the event."""
    state: SeatState = "playing"
    """playing, left (withdrawn) or out (disqualified)."""
    anchor: float | None = None
    """Elo it is given, for an entrant whose rating is known."""


class Basis(NamedTuple):
    """How much of the store a view covers, so that the same view can be made again."""

    match: int = 0
    """The highest id of a final match."""
    change: int = 0
    """The highest id of a change: a join, a withdrawal, a void match."""


_NOTHING = Basis()


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """All that a schedule may know of its event."""

    seats: Sequence[Participant]
    """Everybody who ever took part, by seat."""
    plan: Sequence[PlannedMatch]
    """All matches planned so far, by number; it may be read from the store piece by piece."""
    results: Mapping[MatchKey, float | None]
    """Points of the lower seat in each final match, 1, 0.5 or 0; None for one that is void.

    A match that is planned and not in here is still to be played: an SPRT waits for it, and leaves a void one
    out.
    """
    basis: Basis = _NOTHING
    """What seats and results cover."""


@dataclass(frozen=True, slots=True)
class PlannedBatch:
    """The next matches."""

    matches: Sequence[PlannedMatch]
    """At least one; their numbers go on where the plan of the view ended."""
    total: int | None
    """Matches of the complete plan, those before this batch included; None where nobody can know."""
    note: str = ""
    """What they are, for a person: `round 4 of 7`."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing can be planned until a result or a change arrives."""

    why: str
    """For a person."""


@dataclass(frozen=True, slots=True)
class Closed:
    """The plan is complete: nothing is added.

    With a decision, matches that are not being played are not needed any more; without one they are played.
    """

    decision: str = ""
    """What the event was held to decide; empty where it decides nothing."""


Next: TypeAlias = PlannedBatch | Wait | Closed


class Schedule(Protocol):
    """Decides what is played next."""

    def next(self, view: View, wanted: int) -> Next:
        """Return what is to be planned after `view.plan`.

        It is a pure function of its arguments and of the configuration of the event.

        Args:
            view: what was planned and played so far.
            wanted: the most matches to plan, at least 2. A MatchPair is planned whole where the kind of event
                plays pairs.
        """
        ...

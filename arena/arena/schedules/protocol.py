"""What a schedule is asked, and what it answers.

A schedule has no state of its own and sees no clock, store or random number, so an event is resumed by asking
it again. Chance comes from `arena.pairing.sampling.draw_number` of the event's seed, a purpose and a number.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from arena.schedules.counts import SeatCounts
    from arena_db.records import PlannedMatch

SeatState: TypeAlias = Literal["playing", "left", "out"]
MatchKey: TypeAlias = tuple[int, int]
"""Number of the encounter, and of the match in it."""
TEST_ENCOUNTER: Final = 0
"""In a sequential test, the encounter whose matches are the test."""
RATED_ENCOUNTER: Final = 1
"""The one that is played after its decision; its matches are no part of the test, so they are rated."""


class Absence(NamedTuple):
    """Rounds that a bot missed which left an event and came back."""

    gone: int
    """Matches that had been planned when it left."""
    back: int
    """Matches that had been planned when it came back; what it had not played of these is not played."""
    change: int = 0
    """Id of the change it left by; 0 in a replay, where nothing is left unplayed."""


class Participant(NamedTuple):
    """Who has a seat of an event."""

    label: str
    """The name it is shown with, unique in the event."""
    state: SeatState = "playing"
    """playing, left (withdrawn) or out (disqualified)."""
    anchor: float | None = None
    """Elo it is given, for an entrant whose rating is known."""
    joined_at: int = 0
    """Matches that had been planned before it took part."""
    left_at: int | None = None
    """Matches that had been planned when it left or was disqualified; None while it plays."""
    joined: int = 0
    """Id of the change it joined by; 0 for an entrant of the beginning."""
    left: int = 0
    """Id of the change it left by, while it is away; 0 while it plays."""
    absences: tuple[Absence, ...] = ()
    """When it was away before, oldest first."""


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
    decision: str = ""
    """What the event has decided; it stands, whatever becomes of the matches it rests on."""
    forfeits: Mapping[MatchKey, int] = field(default_factory=dict[MatchKey, int])
    """Seat that forfeited, for each final match that ended by a forfeit."""
    counts: SeatCounts | None = None
    """Sums of plan and results by pair of seats, kept by the coordinator; None lets the schedule add up."""
    errors: Callable[[], Sequence[float]] | None = None
    """Returns half of the 95 % interval of each seat's rating as tables show it, Elo; infinite if unknown.

    It is asked where ratings decide what is played, as they cost more than a batch; None: they are not known.
    """


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


@dataclass(frozen=True, slots=True)
class HasDecided:
    """The event has decided something and goes on: what was planned and has not begun is not needed.

    The coordinator stores the decision, drops those matches and asks again, with the decision in the view.
    """

    decision: str
    """What the event was held to decide."""


Next: TypeAlias = PlannedBatch | Wait | HasDecided | Closed


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

"""The interface between a coordinator and a schedule.

A schedule has no state of its own and uses no clock, store or random number, so a tournament is resumed by
asking it again. Chance comes from `arena.pairing.sampling.draw_number` of the tournament's seed, a purpose
and a number.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from arena.schedules.seat_counts import SeatCounts
    from arena_db.records import PlannedMatch

SeatState: TypeAlias = Literal["playing", "left", "out"]
MatchKey: TypeAlias = tuple[int, int]
"""Number of the encounter, and of the match in it."""
TEST_ENCOUNTER: Final = 0
"""In a sequential test, the encounter whose matches are the test."""
RATED_ENCOUNTER: Final = 1
"""In a sequential test, the encounter played after the decision; its matches are not part of the test, so
they are rated."""


class Absence(NamedTuple):
    """A period for which a bot had left a tournament before it returned."""

    gone: int
    """Number of matches planned when it left."""
    back: int
    """Number of matches planned when it returned; of these, its unplayed ones are not played."""
    change: int = 0
    """Id of the change by which it left; 0 in a replay, where nothing is left unplayed."""


class Participant(NamedTuple):
    """The holder of a seat in a tournament."""

    label: str
    """Its displayed name, unique in the tournament."""
    state: SeatState = "playing"
    """playing, left (withdrawn) or out (disqualified)."""
    anchor: float | None = None
    """Fixed Elo of an entrant whose rating is known; otherwise None."""
    joined_at: int = 0
    """Number of matches planned before it took part."""
    left_at: int | None = None
    """Number of matches planned when it left or was disqualified; None while it plays."""
    joined: int = 0
    """Id of the change by which it joined; 0 if it took part from the beginning."""
    left: int = 0
    """Id of the change by which it left, while it is away; 0 while it plays."""
    absences: tuple[Absence, ...] = ()
    """Earlier absences, oldest first."""


class Basis(NamedTuple):
    """How much of the store a view includes, so that the same view can be made again."""

    match: int = 0
    """Highest id of a final match."""
    change: int = 0
    """Highest id of a change: a join, a withdrawal, a void match."""


_NOTHING = Basis()


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Everything that a schedule may know about its tournament."""

    seats: Sequence[Participant]
    """All present and former participants, by seat."""
    plan: Sequence[PlannedMatch]
    """All matches planned so far, by number; may be read from the store lazily."""
    results: Mapping[MatchKey, float | None]
    """Points of the lower seat in each final match, 1, 0.5 or 0; None for a void match.

    A planned match that is absent must still be played: a sequential test waits for it, and skips a void one.
    """
    basis: Basis = _NOTHING
    """The basis of seats and results."""
    decision: str = ""
    """The stored decision of the tournament; it stays valid, whatever happens to the matches it is based
    on."""
    forfeits: Mapping[MatchKey, int] = field(default_factory=dict[MatchKey, int])
    """Seat that forfeited, for each final match that ended by a forfeit."""
    counts: SeatCounts | None = None
    """Sums of plan and results by pair of seats, kept by the coordinator; None makes the schedule compute
    them."""
    errors: Callable[[], Sequence[float]] | None = None
    """Returns half of the 95 % interval of each seat's rating as shown in tables, Elo; infinite if unknown.

    Called only when ratings decide what is played, because they cost more than a batch; None if they are not
    available.
    """


@dataclass(frozen=True, slots=True)
class PlannedBatch:
    """The next matches."""

    matches: Sequence[PlannedMatch]
    """At least one; their numbers continue the plan of the view."""
    total: int | None
    """Number of matches of the complete plan, earlier ones included; None while it cannot be known."""
    note: str = ""
    """Text for people: `round 4 of 7`."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing can be planned until a result or a change arrives."""

    why: str
    """The reason, for people."""


@dataclass(frozen=True, slots=True)
class Closed:
    """The plan is complete: no matches are added.

    With a decision, matches that are not running are dropped; without one they are played.
    """

    decision: str = ""
    """What the tournament decided; empty if it decides nothing."""


@dataclass(frozen=True, slots=True)
class HasDecided:
    """The tournament has made a decision and continues: planned matches that have not begun are dropped.

    The coordinator stores the decision, drops those matches and asks again, with the decision in the view.
    """

    decision: str
    """What the tournament decided."""


Next: TypeAlias = PlannedBatch | Wait | HasDecided | Closed


class Schedule(Protocol):
    """Decides what is played next."""

    def next(self, view: View, wanted: int) -> Next:
        """Return what to plan after `view.plan`.

        It is a pure function of its arguments and of the configuration of the tournament.

        Args:
            view: plan and results so far.
            wanted: maximum number of matches, at least 2. Types that play pairs plan each MatchPair whole.
        """
        ...

"""A minimal coordinator that drives schedules in tests and simulations."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import pairwise
from typing import TYPE_CHECKING

from arena.schedules.protocol import Closed, HasDecided, Participant, PlannedBatch, View, Wait

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from arena.schedules.protocol import MatchKey, Schedule
    from arena_db.records import PlannedMatch


class SimulatedEvent:
    """A tournament without bots: it plans matches, and receives their results."""

    def __init__(self, schedule: Schedule, num_seats: int) -> None:
        self.schedule = schedule
        self.seats: tuple[Participant, ...] = tuple(Participant(f"bot-{seat}") for seat in range(num_seats))
        self.plan: list[PlannedMatch] = []
        self.results: dict[MatchKey, float | None] = {}
        self.decision: str | None = None
        self.decided = ""
        self.total: int | None = None
        self._known: set[MatchKey] = set()

    def view(self) -> View:
        """Return what the schedule may see now."""
        return View(seats=self.seats, plan=self.plan, results=self.results, decision=self.decided)

    def ask(self, wanted: int) -> Sequence[PlannedMatch]:
        """Plan a batch as a coordinator does, which checks it; nothing if the schedule waits or is done."""
        found = self.schedule.next(self.view(), wanted)
        if isinstance(found, HasDecided):
            self.decided = found.decision
            found = self.schedule.next(self.view(), wanted)
        if isinstance(found, Closed):
            self.decision = found.decision
        if not isinstance(found, PlannedBatch):
            assert isinstance(found, Closed | Wait)
            return ()
        check(len(self.plan), self._known, found, wanted)
        self.plan += found.matches
        self.total = found.total
        return found.matches


def check(num_planned: int, known: set[MatchKey], batch: PlannedBatch, wanted: int) -> None:
    """Check what a coordinator would refuse, and add the keys of the batch to those that are known."""
    assert 1 <= len(batch.matches) <= wanted
    numbers = [num_planned, *(match.number for match in batch.matches)]
    assert all(after == before + 1 for before, after in pairwise(numbers))
    new = {(match.encounter, match.match_no) for match in batch.matches}
    assert len(new) == len(batch.matches)
    assert not new & known
    known |= new


def play_all(
    event: SimulatedEvent, wanted: int, result: Callable[[PlannedMatch], float | None], *, limit: int = 10**6
) -> None:
    """Plan and play until the plan is closed, each batch to its end."""
    while event.decision is None and len(event.plan) < limit:
        batch = event.ask(wanted)
        assert batch or event.decision is not None, "it waits, and nothing is being played"
        for match in batch:
            event.results[match.encounter, match.match_no] = result(match)


def play_in_flight(
    event: SimulatedEvent,
    pairs: int,
    points: Mapping[MatchKey, float],
    seconds: Mapping[MatchKey, float],
) -> int:
    """Play a tournament with `pairs` pairs at once; return the number of matches that were begun.

    Args:
        event: a new tournament.
        pairs: in flight at once, 1 or more.
        points: points of the lower seat in every match that may be planned.
        seconds: duration of each of them.
    """
    running: list[tuple[float, MatchKey]] = []
    now, num_begun = 0.0, 0
    while event.decision is None:
        room = 2 * pairs - len(running)
        begun = event.ask(room) if room > 1 else ()
        for match in begun:
            key = (match.encounter, match.match_no)
            heappush(running, (now + seconds[key], key))
            num_begun += 1
        if event.decision is None and not begun:
            now, key = heappop(running)
            event.results[key] = points[key]
    return num_begun

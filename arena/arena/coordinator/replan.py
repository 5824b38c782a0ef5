"""Plans the stored batches of a tournament again, each from the results that it was planned from."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from arena.coordinator.plan_view import EventView, seats_of
from arena.schedules.protocol import Basis, PlannedBatch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from arena.coordinator.kinds import PlanSource
    from arena.schedules.protocol import SeatState, View
    from arena_db.records import BatchRecord, Entrant, PlannedMatch, TournamentRecord
    from arena_db.store import Store
    from arena_db.voiding import ChangeRecord

_STEPS: Final = 4_000_000
"""Maximum total number of planned matches in all views of one tournament; of longer plans fewer batches are
checked."""
_OF_LADDER: Final = 16
"""Number of batches of a ladder that are checked: each costs two rankings."""
_STATES: Final[Mapping[str, SeatState]] = {"join": "playing", "leave": "left", "disqualify": "out"}
"""State of a bot after a change."""
_MATTERS: Final = frozenset({*_STATES, "void", "unvoid"})
"""Changes after which a tournament differs from what its schedule saw before."""


def replan(store: Store, record: TournamentRecord, source: PlanSource) -> Iterator[tuple[str, bool]]:
    """Yield the batches that differ from what the schedule plans, and whether that is a fault.

    It is not a fault in a ladder, whose rankings are floats that other machines may round differently, or if
    matches became void or bots joined or left: the schedule saw the tournament as it was then. Openings are
    not compared, because files and later versions may list others.

    Args:
        store: contains the tournament.
        record: its record.
        source: its schedule; a fixed plan has nothing to replay.

    Raises:
        ArenaError: the schedule cannot be run here.
    """
    if source.fixed is not None:
        return
    entrants, changes = store.entrants(record.id), store.changes(record.id)
    batches = store.batches(record.id)
    chosen = _chosen(batches, is_open=source.is_open)
    is_fault = not source.is_open and not any(each.kind in _MATTERS for each in changes)
    event = EventView(store, replace(record, num_planned=0))
    for batch in batches:
        if batch.number in chosen:
            rows = store.planned(record.id, after=batch.first - 1, limit=batch.last - batch.first + 1)
            is_decided = source.decides is not None and rows[0].encounter != source.decides.encounter
            decision = record.decision if is_decided else ""
            view = event.look(Basis(batch.basis_match), decision, adds_up=source.is_open)
            then = _entrants_at(entrants, changes, batch)
            seats = seats_of(store, record.id, then, until=batch.basis_change)
            view = replace(view, seats=seats, errors=None)
            if not _is_same(source, view, rows):
                text = f"matches {batch.first} to {batch.last} of {record.name} are not those that follow"
                yield f"{text} from the results before them", is_fault
                return
        event.plan.reach(batch.last)


def _chosen(batches: Sequence[BatchRecord], *, is_open: bool) -> set[int]:
    """Return the numbers of the batches to check, evenly spread, first and last included."""
    most = _OF_LADDER if is_open else max(2, _STEPS // max(1, sum(batch.last for batch in batches[-1:])))
    if len(batches) <= most:
        return {batch.number for batch in batches}
    last = len(batches) - 1
    return {batches[place * last // (most - 1)].number for place in range(most)}


def _entrants_at(
    entrants: Sequence[Entrant], changes: Sequence[ChangeRecord], batch: BatchRecord
) -> list[Entrant]:
    """Return the entrants when a batch was planned, with their states."""
    states: dict[str, SeatState] = {}
    for each in changes:
        if each.id <= batch.basis_change and each.kind in _STATES:
            states[each.subject] = _STATES[each.kind]
    return [
        replace(one, state=states.get(one.label, "playing"))
        for one in entrants
        if one.joined <= batch.basis_change
    ]


def _is_same(source: PlanSource, view: View, rows: Sequence[PlannedMatch]) -> bool:
    """Return whether the schedule plans these matches next, or cannot be run as it was then."""
    if source.is_open and any(who.joined and who.state == "playing" for who in view.seats):
        # Whether a bot counts as a newcomer depends on its rating at that time, which is not stored.
        return True
    found = source.schedule.next(view, len(rows))
    return isinstance(found, PlannedBatch) and [*map(_place, found.matches)] == [*map(_place, rows)]


def _place(match: PlannedMatch) -> tuple[int, ...]:
    return match.number, match.encounter, match.match_no, match.first, match.second

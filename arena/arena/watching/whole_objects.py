"""A tournament and a match as one complete object each; the keys are an interface."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import msgspec

from arena.coordinator.event_tables import event_tables
from arena.errors import NotFoundError
from arena.live.reducer import reduce_all
from arena.live.views import LiveView
from arena.results.addresses import planned_match
from arena.results.grades import analysis_of
from arena.results.sequential import report_of
from arena.watching.objects import holder_object, stored_match_object, tournament_object
from arena.watching.store_feed import translated
from arena.watching.table_objects import analysis_object, event_objects

if TYPE_CHECKING:
    from arena.live.views import MatchView
    from arena.results.addresses import Address
    from arena_db.records import StoredMatch, TournamentRecord
    from arena_db.store import Store


class UnplayedMatch(msgspec.Struct, frozen=True, kw_only=True):
    """A match without a result; the fields are the keys of the JSON form."""

    address: str
    tournament: str
    number: int
    """Number in the plan."""
    game: str
    first: str
    second: str
    state: str
    """State of the match: planned, running or stalled."""
    num_opening: int
    """Number of actions in the opening."""
    actions: tuple[int, ...]
    """The actions played so far, or as many as the address says."""


def whole_tournament(store: Store, record: TournamentRecord) -> dict[str, object]:
    """Return a tournament with its bots, holder, test, places and bracket."""
    report = report_of(store, record)
    more = event_objects(event_tables(store, record))
    return {
        **tournament_object(record, store.tournaments.entrants(record.id), store.changes.of(record.id)),
        "holder": holder_object(store.leases.find(record.id)),
        "test": None if report is None else report.to_object(),
        "places": [row for kind, row in more if kind == "place"],
        "bracket": [row for kind, row in more if kind == "bracket"],
    }


def whole_match(store: Store, match: StoredMatch, *, is_solved: bool = True) -> dict[str, object]:
    """Return a stored match with the reports of its bots and its grading.

    Args:
        store: the store with the match.
        match: the match.
        is_solved: whether the solver judges a match without a stored grading.
    """
    remarks = store.matches.remarks([match.id]).get(match.id) or (None,) * len(match.actions)
    said = [None if remark is None else dataclasses.asdict(remark) for remark in remarks]
    judged = analysis_object(analysis_of(store, match, is_solved=is_solved))
    return stored_match_object(match) | {"remarks": said, "analysis": judged}


def unplayed_match(store: Store, address: Address) -> UnplayedMatch:
    """Return a planned match: bots, opening, and the moves played so far.

    Raises:
        NotFoundError: the match is not planned, or has fewer plies than the address says.
    """
    record = address.tournament
    planned = planned_match(store, address)
    labels = {entrant.seat: entrant.label for entrant in store.tournaments.entrants(record.id)}
    running = _running(store, record, planned.number)
    actions = tuple(planned.opening) if running is None else running.actions
    if address.ply is not None and address.ply > len(actions):
        raise NotFoundError(
            f"no ply {address.ply} in {address._replace(ply=None)}; it has {len(actions)} so far"
        )
    return UnplayedMatch(
        address=str(address._replace(ply=None)),
        tournament=record.name,
        number=planned.number,
        game=record.game,
        first=labels[planned.first],
        second=labels[planned.second],
        state="planned" if running is None else "stalled" if running.is_stalled else "running",
        num_opening=len(planned.opening),
        actions=actions[: address.ply],
    )


def is_played_again(store: Store, address: Address) -> bool:
    """Return whether a match whose last attempt was void is being played again, and no attempt is named."""
    last = address.match
    if last is None or last.is_final or address.attempt is not None or address.number is None:
        return False
    return _running(store, address.tournament, address.number) is not None


def _running(store: Store, record: TournamentRecord, number: int) -> MatchView | None:
    """Return a running match as viewers see it; None if it is not being played."""
    lease = store.leases.find(record.id)
    if lease is None or not lease.is_alive:
        return None
    view = reduce_all(LiveView(), translated(store.events.snapshot(record.id).events))
    match = view.matches.get(number)
    return match if match is not None and not match.is_over and not match.trouble else None

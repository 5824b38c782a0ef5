"""Finds out whether the coordinator of a ladder has processed a change, from its next stored batch."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from arena.coordinator.client import ANSWER_S
from arena.coordinator.holder import heard_of
from arena.errors import ConfigError
from arena.home import home
from arena.results.tournament_states import state_of

if TYPE_CHECKING:
    from arena_db.records import BatchRecord, Entrant, PlannedMatch, TournamentRecord
    from arena_db.store import Store

_LOOK_S: Final = 0.05
"""Seconds between two polls for the batch."""


def answer_to_join(store: Store, ladder: TournamentRecord, entrant: Entrant, wait_s: float = ANSWER_S) -> str:
    """Return what the coordinator of a ladder does with a bot that has just joined, as text.

    Every batch records the newest change it was planned from, so no message has to be sent.

    Args:
        store: the store in which the bot joined.
        ladder: its record.
        entrant: the bot, with its seat.
        wait_s: seconds to wait for the batch with its first match.

    Raises:
        ConfigError: the coordinator cannot start the bot and has withdrawn it.
    """
    change, end = store.last_change(ladder.id), time.monotonic() + wait_s
    while _is_run(store, ladder):
        _refuse_withdrawn(store, ladder, entrant)
        found = store.batches(ladder.id, since=change)
        first = _first_match(store, ladder, found, entrant.seat)
        if first is not None:
            other = first.second if first.first == entrant.seat else first.first
            label = store.entrants(ladder.id)[other].label
            return f"its first match is {first.number}, against {label}"
        if time.monotonic() >= end:
            return "others that joined go first" if found else _no_answer(store, ladder, "plays it")
        time.sleep(_LOOK_S)
    return f"{ladder.name} is not being run; arena ladder run {ladder.name} lets it play"


def answer_to_leave(store: Store, ladder: TournamentRecord, wait_s: float = ANSWER_S) -> str:
    """Return what the coordinator of a ladder does with bots that have just left, as text.

    Args:
        store: the store in which they left.
        ladder: its record.
        wait_s: seconds to wait for the first batch without them.
    """
    change, end = store.last_change(ladder.id), time.monotonic() + wait_s
    while _is_run(store, ladder):
        found = store.batches(ladder.id, since=change)
        if found:
            return f"from match {found[0].first} on it is not paired"
        if time.monotonic() >= end:
            return _no_answer(store, ladder, "plans without it")
        time.sleep(_LOOK_S)
    return f"{ladder.name} is not being run"


def _refuse_withdrawn(store: Store, ladder: TournamentRecord, entrant: Entrant) -> None:
    """Refuse a bot that no longer takes part: its coordinator withdraws a newcomer that it cannot start.

    Raises:
        ConfigError: the text has the reason.
    """
    if store.entrants(ladder.id)[entrant.seat].state == "playing":
        return
    moves = [each for each in store.changes(ladder.id) if each.subject == entrant.label]
    raise ConfigError(
        f"{entrant.label} left {ladder.name} before its first match: {moves[-1].reason}; this command keeps "
        f"bots in {home()}: set ARENA_HOME to that of the coordinator and join again"
    )


def _first_match(
    store: Store, ladder: TournamentRecord, found: list[BatchRecord], seat: int
) -> PlannedMatch | None:
    if not found:
        return None
    planned = store.planned(ladder.id, after=found[0].first - 1)
    return next((match for match in planned if seat in {match.first, match.second}), None)


def _is_run(store: Store, ladder: TournamentRecord) -> bool:
    lease = store.lease(ladder.id)
    return lease is not None and lease.is_alive


def _no_answer(store: Store, ladder: TournamentRecord, does: str) -> str:
    """Return why no batch came, and what the coordinator does later."""
    if state_of(store, store.tournament(ladder.id) or ladder) == "paused":
        return f"{ladder.name} is paused and {does} when it is resumed"
    lease = store.lease(ladder.id)
    who = "its coordinator" if lease is None else heard_of(lease)
    return f"no answer yet from {who}, which {does} from its next batch on"

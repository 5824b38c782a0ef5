"""Bots that join an event and leave it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from arena_db.errors import RefusedError, TakenError
from arena_db.records import NewBatch, OpenPlan
from stores import Cup, entrants, new_tournament, plan

if TYPE_CHECKING:
    from arena_db.records import Entrant
    from arena_db.store import Store

WHO = "ann@lab"


def add_ladder(store: Store) -> Cup:
    seats = [replace(entrant, anchor=1200.0 if entrant.seat else None) for entrant in entrants("a", "b")]
    matches = plan(2, 4)
    record = store.add_tournament(new_tournament(type="ladder"), seats, OpenPlan())
    store.add_batch(record.id, NewBatch(matches=matches, num_total=None))
    return Cup(record, seats, matches)


def newcomer(name: str) -> Entrant:
    return entrants(name)[0]


def seen(store: Store, cup: Cup) -> list[tuple[int, str, str, float | None, int]]:
    return [(one.seat, one.label, one.state, one.anchor, one.joined) for one in store.entrants(cup.record.id)]


def test_bots_join_at_the_end_and_leave_their_seats_behind(store: Store) -> None:
    cup = add_ladder(store)
    ladder = cup.record.id
    assert seen(store, cup) == [(0, "a", "playing", None, 0), (1, "b", "playing", 1200.0, 0)]
    assert store.join(ladder, newcomer("c"), reason="new", who=WHO).seat == 2
    store.leave(ladder, 0, reason="old", who=WHO)
    assert store.join(ladder, newcomer("d"), reason="", who=WHO).seat == 3
    assert seen(store, cup) == [
        (0, "a", "left", None, 0),
        (1, "b", "playing", 1200.0, 0),
        (2, "c", "playing", None, 1),
        (3, "d", "playing", None, 3),
    ]
    found = [(change.kind, change.subject, change.reason, change.who) for change in store.changes(ladder)]
    assert found == [("join", "c", "new", WHO), ("leave", "a", "old", WHO), ("join", "d", "", WHO)]


def test_who_left_comes_back_to_its_seat(store: Store) -> None:
    cup = add_ladder(store)
    store.leave(cup.record.id, 0, reason="", who=WHO)
    assert store.join(cup.record.id, newcomer("a"), reason="", who=WHO) == cup.entrants[0]
    assert len(store.changes(cup.record.id)) == 2


def test_joining_opens_a_complete_plan(store: Store) -> None:
    cup = add_ladder(store)
    store.save([cup.match(number) for number in range(1, 5)])
    store.close_plan(cup.record.id, "every rating is within 15 Elo", drops=True)
    store.set_state(cup.record.id, "finished")
    store.join(cup.record.id, newcomer("c"), reason="", who=WHO)
    record = store.tournament(cup.record.id)
    assert record is not None
    assert (record.state, record.is_planned, record.num_total, record.decision) == (
        "stopped",
        False,
        None,
        "",
    )


def test_joining_leaves_a_running_event_as_it_is(store: Store) -> None:
    cup = add_ladder(store)
    before = store.tournament(cup.record.id)
    store.join(cup.record.id, newcomer("c"), reason="", who=WHO)
    assert store.tournament(cup.record.id) == before


def test_what_cannot_be_changes_nothing(store: Store) -> None:
    cup = add_ladder(store)
    ladder = cup.record.id
    with pytest.raises(TakenError, match="a takes part already"):
        store.join(ladder, newcomer("a"), reason="", who=WHO)
    with pytest.raises(TakenError, match="another bot is called a there"):
        store.join(ladder, newcomer("other/a"), reason="", who=WHO)
    with pytest.raises(RefusedError, match="no tournament with id 77"):
        store.join(77, newcomer("c"), reason="", who=WHO)
    store.leave(ladder, 1, reason="", who=WHO)
    for seat in (1, 2):
        with pytest.raises(RefusedError, match=f"no bot takes part in tournament {ladder} at seat {seat}"):
            store.leave(ladder, seat, reason="", who=WHO)
    assert len(store.entrants(ladder)) == 2
    assert [change.kind for change in store.changes(ladder)] == ["leave"]

"""Bots that join a tournament and leave it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from arena_db.errors import RefusedError, TakenError
from arena_db.owner import current_owner
from arena_db.records import NewBatch, OpenPlan
from stores import Cup, add_cup, entrants, new_tournament, plan

if TYPE_CHECKING:
    from arena_db.records import Entrant
    from arena_db.store import Store

WHO = "ann@lab"


def add_ladder(store: Store) -> Cup:
    seats = [replace(entrant, anchor=1200.0 if entrant.seat else None) for entrant in entrants("a", "b")]
    matches = plan(2, 4)
    record = store.tournaments.add(new_tournament(type="ladder"), seats, OpenPlan())
    store.plans.add_batch(record.id, NewBatch(matches=matches, num_total=None))
    return Cup(record, seats, matches)


def newcomer(name: str) -> Entrant:
    return entrants(name)[0]


def seen(store: Store, cup: Cup) -> list[tuple[int, str, str, float | None, int]]:
    return [
        (one.seat, one.label, one.state, one.anchor, one.joined)
        for one in store.tournaments.entrants(cup.record.id)
    ]


def test_bots_join_at_the_end_and_leave_their_seats_behind(store: Store) -> None:
    cup = add_ladder(store)
    ladder = cup.record.id
    assert seen(store, cup) == [(0, "a", "playing", None, 0), (1, "b", "playing", 1200.0, 0)]
    assert store.changes.join(ladder, newcomer("c"), reason="new", who=WHO).seat == 2
    store.changes.leave(ladder, 0, reason="old", who=WHO)
    assert store.changes.join(ladder, newcomer("d"), reason="", who=WHO).seat == 3
    assert seen(store, cup) == [
        (0, "a", "left", None, 0),
        (1, "b", "playing", 1200.0, 0),
        (2, "c", "playing", None, 1),
        (3, "d", "playing", None, 3),
    ]
    found = [(change.kind, change.subject, change.reason, change.who) for change in store.changes.of(ladder)]
    assert found == [("join", "c", "new", WHO), ("leave", "a", "old", WHO), ("join", "d", "", WHO)]


def test_who_left_comes_back_to_its_seat(store: Store) -> None:
    cup = add_ladder(store)
    store.changes.leave(cup.record.id, 0, reason="", who=WHO)
    assert store.changes.join(cup.record.id, newcomer("a"), reason="", who=WHO) == cup.entrants[0]
    assert len(store.changes.of(cup.record.id)) == 2


def test_joining_opens_a_complete_plan(store: Store) -> None:
    cup = add_ladder(store)
    store.matches.save([cup.match(number) for number in range(1, 5)])
    store.plans.close(cup.record.id, "every rating is within 15 Elo", drops=True)
    store.tournaments.set_state(cup.record.id, "finished")
    store.changes.join(cup.record.id, newcomer("c"), reason="", who=WHO)
    record = store.tournaments.find(cup.record.id)
    assert record is not None
    assert (record.state, record.is_planned, record.num_total, record.decision) == (
        "stopped",
        False,
        None,
        "",
    )


def test_joining_leaves_a_running_event_as_it_is(store: Store) -> None:
    cup = add_ladder(store)
    before = store.tournaments.find(cup.record.id)
    store.changes.join(cup.record.id, newcomer("c"), reason="", who=WHO)
    assert store.tournaments.find(cup.record.id) == before


def test_what_cannot_be_changes_nothing(store: Store) -> None:
    cup = add_ladder(store)
    ladder = cup.record.id
    with pytest.raises(TakenError, match="a takes part already"):
        store.changes.join(ladder, newcomer("a"), reason="", who=WHO)
    with pytest.raises(TakenError, match="another bot is called a there"):
        store.changes.join(ladder, newcomer("other/a"), reason="", who=WHO)
    with pytest.raises(RefusedError, match="no tournament with id 77"):
        store.changes.join(77, newcomer("c"), reason="", who=WHO)
    store.changes.leave(ladder, 1, reason="", who=WHO)
    for seat in (1, 2):
        with pytest.raises(RefusedError, match=f"no bot takes part in tournament {ladder} at seat {seat}"):
            store.changes.leave(ladder, seat, reason="", who=WHO)
    assert len(store.tournaments.entrants(ladder)) == 2
    assert [change.kind for change in store.changes.of(ladder)] == ["leave"]


def test_what_is_planned_for_a_leaver_is_dropped(store: Store) -> None:
    cup = add_cup(store, num=12)
    store.matches.save([cup.match(1), cup.match(2)])
    store.changes.leave(cup.record.id, 0, reason="", who=WHO)
    left = [match for match in cup.plan if match.number > 2 and 0 not in (match.first, match.second)]
    assert store.plans.unplayed(cup.record.id) == left
    record = store.tournaments.find(cup.record.id)
    assert record is not None
    assert (record.num_dropped, record.num_total) == (10 - len(left), 2 + len(left))
    store.matches.save([cup.match(match.number) for match in left])
    store.tournaments.set_state(cup.record.id, "stopped")
    assert store.changes.drop_gone(cup.record.id) == []
    assert store.integrity.check() == []


def test_a_run_drops_what_it_is_not_playing(store: Store) -> None:
    cup = add_cup(store, num=12)
    run = store.claim(cup.record.id, current_owner())
    assert run is not None
    store.changes.leave(cup.record.id, 0, reason="", who=WHO)
    own = [match.number for match in cup.plan if 0 in (match.first, match.second)]
    # Only the run knows which matches are in progress.
    assert len(store.plans.unplayed(cup.record.id)) == 12
    assert run.changes.drop_gone(cup.record.id, own[:2]) == own[2:]
    left = {match.number for match in store.plans.unplayed(cup.record.id)}
    assert left & set(own) == set(own[:2])
    run.matches.save([cup.match(number) for number in own[:2]])
    assert run.changes.drop_gone(cup.record.id) == []
    record = store.tournaments.find(cup.record.id)
    assert record is not None
    assert record.num_total == 12 - len(own) + 2
    run.close()
    assert store.integrity.check() == []


def test_an_event_whose_last_matches_are_dropped_is_finished(store: Store) -> None:
    cup = add_cup(store, num=12)
    rest = [match.number for match in cup.plan if 0 not in (match.first, match.second)]
    store.matches.save([cup.match(number) for number in rest])
    store.tournaments.set_state(cup.record.id, "stopped")
    store.changes.leave(cup.record.id, 0, reason="", who=WHO)
    record = store.tournaments.find(cup.record.id)
    assert record is not None
    assert (record.state, record.is_complete) == ("finished", True)
    back = store.changes.join(cup.record.id, newcomer("a"), reason="", who=WHO, rest="again")
    assert (back.seat, back.state, bool(back.joined), back.left) == (0, "playing", True, 0)
    record = store.tournaments.find(cup.record.id)
    assert record is not None
    assert (record.state, record.num_dropped) == ("stopped", 0)
    assert len(store.plans.unplayed(cup.record.id)) == 12 - len(rest)
    assert store.integrity.check() == []


def test_who_is_back_may_forgo_what_it_left_open(store: Store) -> None:
    cup = add_cup(store, num=12)
    own = [match.number for match in cup.plan if 0 in (match.first, match.second)]
    run = store.claim(cup.record.id, current_owner())
    assert run is not None
    store.changes.leave(cup.record.id, 0, reason="", who=WHO)
    # The run is playing one of the bot's matches, so it is open whether this match gets a result.
    assert run.changes.drop_gone(cup.record.id, own[:1]) == own[1:]
    with pytest.raises(RefusedError, match="a has left, and its last match is being played"):
        store.changes.join(cup.record.id, newcomer("a"), reason="", who=WHO, rest="never")
    assert store.tournaments.entrants(cup.record.id)[0].state == "left"
    run.matches.save([cup.match(own[0])])
    back = store.changes.join(cup.record.id, newcomer("a"), reason="", who=WHO, rest="never")
    assert (back.seat, back.state, back.joined, back.left) == (0, "playing", 0, 0)
    assert {match.number for match in store.plans.unplayed(cup.record.id)}.isdisjoint(own)
    run.close()
    # No process runs the tournament now, and the run that ended had not dropped the matches.
    run = store.claim(cup.record.id, current_owner())
    assert run is not None
    store.changes.leave(cup.record.id, 1, reason="", who=WHO)
    run.leases.release()
    assert store.plans.unplayed(cup.record.id)
    store.changes.join(cup.record.id, newcomer("b"), reason="", who=WHO, rest="never")
    assert store.plans.unplayed(cup.record.id) == []
    assert store.integrity.check() == []


def test_a_disqualified_bot_is_void_and_stays_out(store: Store) -> None:
    cup = add_cup(store, num=12)
    own = [match.number for match in cup.plan if 0 in (match.first, match.second)]
    store.matches.save([cup.match(number) for number in range(1, 7)])
    run = store.claim(cup.record.id, current_owner())
    assert run is not None
    num = store.changes.disqualify(cup.record.id, 0, reason="helped", who=WHO)
    assert num == len([number for number in own if number <= 6])
    with pytest.raises(RefusedError):
        store.changes.disqualify(cup.record.id, 0, reason="again", who=WHO)
    with pytest.raises(RefusedError, match="disqualified"):
        store.changes.join(cup.record.id, newcomer("a"), reason="", who=WHO)
    # A match that was in progress becomes void once it is stored.
    late = next(number for number in own if number > 6)
    run.matches.save([cup.match(late)])
    assert run.changes.void_out(cup.record.id) == 1
    assert run.changes.void_out(cup.record.id) == 0
    voids = {match.number: match.void_reason for match in store.matches.of_tournament(cup.record.id)}
    assert {number for number, reason in voids.items() if reason == "helped"} == {
        number for number in own if number <= 6
    } | {late}
    store.changes.unvoid([match.id for match in store.matches.of_tournament(1)], reason="cleared", who=WHO)
    assert run.changes.void_out(cup.record.id) == 0
    run.close()
    assert store.integrity.check() == []


def test_a_disqualification_needs_a_reason(store: Store) -> None:
    cup = add_cup(store, num=12)
    with pytest.raises(RefusedError, match="a reason is missing"):
        store.changes.disqualify(cup.record.id, 0, reason=" ", who=WHO)
    assert store.changes.of(cup.record.id) == []
    assert [one.state for one in store.tournaments.entrants(cup.record.id)] == ["playing"] * 3


def test_how_long_a_plan_was_at_each_change(store: Store) -> None:
    cup = add_ladder(store)
    ladder = cup.record.id
    assert store.plans.lengths(ladder) == [(0, 4)]
    store.changes.join(ladder, newcomer("c"), reason="", who=WHO)
    more = plan(2, 2, start=4)
    store.plans.add_batch(ladder, NewBatch(matches=more, num_total=None, basis_change=1))
    assert store.plans.lengths(ladder) == [(0, 4), (1, 6)]

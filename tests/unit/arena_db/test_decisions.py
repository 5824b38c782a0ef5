"""Tournaments that continue after a decision."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from arena_db.errors import RefusedError
from arena_db.records import NewBatch, OpenPlan
from stores import Cup, entrants, new_tournament, plan

if TYPE_CHECKING:
    from arena_db.store import Store

MATCHES = [
    replace(match, encounter=place // 8, match_no=place % 8) for place, match in enumerate(plan(2, 12))
]
"""Eight matches before the decision, and four more."""


def _add(store: Store) -> Cup:
    seats = entrants("a", "b")
    cup = Cup(store.tournaments.add(new_tournament(), seats, OpenPlan(100)), seats, MATCHES)
    store.plans.add_batch(cup.record.id, NewBatch(matches=MATCHES[:8], num_total=100))
    return cup


def test_what_is_not_needed_after_a_decision_is_dropped(store: Store) -> None:
    cup = _add(store)
    store.matches.save([cup.match(number) for number in (1, 2, 4)])
    assert store.plans.decide(cup.record.id, "H1", num_more=4, encounter=0, running=(3, 5)) == 3
    record = store.tournaments.find(cup.record.id)
    assert record is not None
    assert (record.decision, record.num_dropped, record.is_planned) == ("H1", 3, False)
    # Three are played, two are in progress, four follow.
    assert record.num_total == 9
    assert [match.number for match in store.plans.unplayed(cup.record.id)] == [3, 5]
    store.plans.add_batch(cup.record.id, NewBatch(matches=MATCHES[8:], num_total=9))
    assert [match.number for match in store.plans.unplayed(cup.record.id)] == [3, 5, 9, 10, 11, 12]
    # The run was killed during the two matches, so these are dropped; the other encounter stays.
    assert store.plans.decide(cup.record.id, "H1", num_more=4, encounter=0) == 2
    record = store.tournaments.find(cup.record.id)
    assert record is not None
    assert (record.num_dropped, record.num_total) == (5, 7)
    store.matches.save([cup.match(number) for number in (9, 10, 11, 12)])
    store.plans.close(cup.record.id, "H1")
    record = store.tournaments.find(cup.record.id)
    assert record is not None
    assert record.is_complete
    assert (record.decision, record.num_total) == ("H1", 7)
    assert store.integrity.check() == []


def test_a_result_of_a_dropped_match_counts(store: Store) -> None:
    cup = _add(store)
    store.plans.decide(cup.record.id, "H0", num_more=0, encounter=0)
    store.matches.save([cup.match(7)])
    record = store.tournaments.find(cup.record.id)
    assert record is not None
    assert (record.num_done, record.num_dropped) == (1, 7)
    assert store.integrity.check() == []


def test_play_time_is_that_of_one_encounter(store: Store) -> None:
    cup = _add(store)
    store.plans.add_batch(cup.record.id, NewBatch(matches=MATCHES[8:], num_total=12))
    assert store.plans.play_time(cup.record.id, 0) == 0.0
    store.matches.save([replace(cup.match(number), duration_ms=1000 * number) for number in (1, 3, 10)])
    assert store.plans.play_time(cup.record.id, 0) == 4.0
    assert store.plans.play_time(cup.record.id, 1) == 10.0
    assert store.plans.play_time(cup.record.id + 1, 0) == 0.0


def test_nobody_decides_what_is_not_there(store: Store) -> None:
    with pytest.raises(RefusedError, match="no tournament with id 7"):
        store.plans.decide(7, "H1", num_more=0, encounter=0)

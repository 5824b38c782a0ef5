"""The pairs that are played for ratings after a test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arena.errors import ConfigError
from arena.pairing.schedule import FixedPlan
from arena.schedules.protocol import Closed, HasDecided, PlannedBatch, View, Wait
from arena.schedules.sprt_schedule import SprtSchedule, SprtState, SprtTest
from schedules import SimulatedEvent, play_all

if TYPE_CHECKING:
    from arena_db.records import PlannedMatch

LOOSE = SprtTest(elo1=150.0, alpha=0.2, beta=0.2)


def _schedule(num_openings: int, then_rate: int, *, reverse: bool = False) -> SprtSchedule:
    openings = [(place,) for place in range(num_openings)]
    return SprtSchedule(test=LOOSE, openings=openings, then_rate=then_rate, reverse=reverse)


def _win(match: PlannedMatch) -> float:
    del match
    return 1.0


def test_pairs_after_the_decision_have_openings_the_test_did_not_plan() -> None:
    event = SimulatedEvent(_schedule(20, 5), 2)
    play_all(event, 8, _win)
    tested = [match for match in event.plan if match.encounter == 0]
    rated = [match for match in event.plan if match.encounter == 1]
    assert event.plan == tested + rated
    assert [match.match_no for match in rated] == list(range(10))
    assert [(match.first, match.second) for match in rated] == [(0, 1), (1, 0)] * 5
    num_pairs = len(tested) // 2
    assert [match.opening for match in rated[::2]] == [(num_pairs + k,) for k in range(5)]
    assert [match.opening for match in rated[1::2]] == [match.opening for match in rated[::2]]
    assert event.total == len(event.plan)
    assert event.decision == "H1 after 4 pairs: 0 0 0 0 4"


def test_openings_are_used_again_when_there_are_no_more() -> None:
    event = SimulatedEvent(_schedule(4, 6), 2)
    play_all(event, 100, _win)
    rated = [match.opening for match in event.plan if match.encounter == 1]
    assert rated[::2] == [(0,), (1,), (2,), (3,), (0,), (1,)]
    assert event.total == 20


def test_the_most_matches_are_known_before_the_decision() -> None:
    event = SimulatedEvent(_schedule(20, 5), 2)
    event.ask(4)
    assert event.total == 50


def test_the_decision_comes_before_the_pairs_after_it_and_the_plan_closes_with_their_results() -> None:
    schedule = _schedule(20, 3)
    event = SimulatedEvent(schedule, 2)
    for match in event.ask(8):
        event.results[match.encounter, match.match_no] = 1.0
    decided = schedule.next(event.view(), 4)
    assert isinstance(decided, HasDecided)
    assert decided == HasDecided("H1 after 4 pairs: 0 0 0 0 4")
    event.decided = decided.decision
    first = schedule.next(event.view(), 4)
    assert isinstance(first, PlannedBatch)
    assert [match.number for match in first.matches] == [9, 10, 11, 12]
    event.plan += first.matches
    second = schedule.next(event.view(), 4)
    assert isinstance(second, PlannedBatch)
    assert [match.match_no for match in second.matches] == [4, 5]
    event.plan += second.matches
    for match in (*first.matches, *second.matches):
        assert isinstance(schedule.next(event.view(), 4), Wait)
        event.results[match.encounter, match.match_no] = None
    assert schedule.next(event.view(), 4) == Closed(decided.decision)


def test_a_decision_that_is_stored_stands_whatever_becomes_of_its_matches() -> None:
    schedule = _schedule(20, 0)
    results: dict[tuple[int, int], float | None] = {(0, number): 1.0 for number in range(8)}
    decided = schedule.next(View(seats=(), plan=[], results=results), 4)
    assert isinstance(decided, Closed)
    results[0, 0] = None
    assert schedule.state(results).decision is None
    assert schedule.next(View(seats=(), plan=[], results=results, decision=decided.decision), 4) == decided
    assert schedule.state(results, decided.decision) == SprtState(
        "H1", 4, LOOSE.ratio((0, 0, 0, 0, 4)), (0, 0, 0, 0, 4)
    )


@pytest.mark.parametrize("text", ["H1", "H2 after 4 pairs: 0 0 0 0 4", "H1 after 4 pairs: 0 0 0 4", "None"])
def test_what_is_no_decision_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="not a decision of a sequential test"):
        LOOSE.read(text)


def test_the_other_side_may_begin() -> None:
    event = SimulatedEvent(_schedule(20, 1, reverse=True), 2)
    play_all(event, 8, _win)
    assert [(match.first, match.second) for match in event.plan] == [(1, 0), (0, 1)] * (len(event.plan) // 2)
    straight = FixedPlan(
        kind="match", num_bots=2, rounds=20, games=2, openings=_schedule(20, 0).openings, reverse=True
    )
    assert [m.first for m in event.plan[:6]] == [m.first for m in straight.matches(0, 6)]

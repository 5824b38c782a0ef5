"""Times of a machine whose clock differs, for viewers and in records."""

from __future__ import annotations

import time
from concurrent.futures import wait
from typing import TYPE_CHECKING

import pytest

from arena.executor.cluster import hub_clock
from arena.executor.cluster.hub_clock import ASK_S, HubClock
from arena.executor.cluster.messages import HubTime
from cluster_pools import DEADLINE_S, await_thought, await_true, begin, waiting
from rogue_slots import honest

if TYPE_CHECKING:
    from pathlib import Path

    from arena.executor.cluster.pool import ClusterPool
    from arena.executor.cluster.private import PrivateCluster
    from arena_db.records import LiveEvent
    from cluster_pools import JobsOf

HOUR_S = 3600.0
NEAR = 0.05
"""Seconds; nearer clocks are not converted."""


class Clocks:
    """Our clock, in place of the module `time`, and the one of the hub."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.ahead = 7.0

    def time(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now

    def exchange(self, clock: HubClock, there_s: float, back_s: float) -> float:
        """Ask and hear the answer; the messages take so long. Return what the clock then knows."""
        question = clock.ask()
        self.now += there_s
        answer = HubTime(question.at, self.now + self.ahead)
        self.now += back_s
        clock.hear(answer)
        return clock.ahead


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    found = Clocks()
    monkeypatch.setattr(hub_clock, "time", found)
    return found


def test_a_slow_answer_is_made_good_by_a_quick_one_and_spoils_none(clocks: Clocks) -> None:
    clock = HubClock()
    assert clock.ahead == 0.0
    assert clocks.exchange(clock, 0.0, 1.5) == pytest.approx(7.0 - 0.75)
    assert clocks.exchange(clock, 0.002, 0.002) == pytest.approx(7.0, abs=0.002)
    for there_s, back_s in ((0.0, 1.5), (1.5, 0.0), (40.0, 0.01)):
        assert clocks.exchange(clock, there_s, back_s) == pytest.approx(7.0, abs=0.002)


def test_a_clock_that_is_set_is_noticed(clocks: Clocks) -> None:
    clock = HubClock()
    clocks.exchange(clock, 0.01, 0.01)
    for ahead in (HOUR_S, -HOUR_S, 0.0):
        clocks.ahead = ahead
        assert clocks.exchange(clock, 0.01, 0.02) == pytest.approx(ahead, abs=0.03)


def test_an_answer_to_a_question_of_before_our_clock_was_set_back_says_nothing(clocks: Clocks) -> None:
    clock = HubClock()
    clocks.exchange(clock, 0.01, 0.01)
    assert clocks.exchange(clock, 0.01, -HOUR_S) == pytest.approx(7.0)


def test_it_asks_each_minute(clocks: Clocks) -> None:
    clock = HubClock()
    assert clock.is_due
    clock.ask()
    clocks.now += ASK_S - 1
    assert not clock.is_due
    clocks.now += 1
    assert clock.is_due


def near(found: float, least: float) -> bool:
    return least - NEAR <= found <= time.time() + NEAR


def test_a_machine_of_another_hour_tells_times_of_this_one(
    jobs_of: JobsOf, cluster: PrivateCluster, pool: ClusterPool, tmp_path: Path
) -> None:
    with honest(cluster, tmp_path, ahead=HOUR_S) as (slot, _):
        await_true(lambda: slot in pool.slots(), "the slot does not join")
        began = time.time()
        future = begin(pool, waiting(jobs_of, tmp_path)[:1], slot)
        await_thought(tmp_path)
        events: list[LiveEvent] = []

        def is_told() -> bool:
            events.extend(pool.events())
            return bool(events)

        await_true(is_told, "nothing is told of a match that lasts")
        (tmp_path / "gate").touch()
        wait([future], DEADLINE_S)
        records = [record for part in pool.results() for record in part]
    assert [record.number for record in records] == [1]
    assert near(records[0].started_at, began)
    assert events[0].kind == "started"
    assert all(near(event.t, began) for event in events)

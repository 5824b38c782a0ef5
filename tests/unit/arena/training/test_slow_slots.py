"""A slow slot leaves the last shards of a step to faster ones, if these finish them sooner."""

from __future__ import annotations

import heapq
from random import Random
from typing import TYPE_CHECKING

import pytest

from arena.executor.slots import Slot
from arena.training.dispatch import Paces

if TYPE_CHECKING:
    from collections.abc import Sequence

FAST, SLOW = Slot("1" * 32, 0, "a"), Slot("1" * 32, 1, "b")
BOTH = (FAST, SLOW)


class Clock:
    """Seconds that a test sets."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def compute(paces: Paces, clock: Clock, slot: Slot, seconds: float) -> None:
    paces.began(slot)
    clock.now += seconds
    paces.ended(slot, is_done=True)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def paces(clock: Clock) -> Paces:
    """Know a slot that takes 2 s and one that takes 20 s."""
    found = Paces(clock)
    for slot, seconds in ((FAST, 2.0), (SLOW, 20.0)):
        compute(found, clock, slot, 99.0)  # it compiles
        compute(found, clock, slot, seconds)
    return found


def test_a_slow_slot_leaves_what_the_fast_one_finishes_sooner(paces: Paces) -> None:
    assert paces.leaves(SLOW, BOTH, 10)
    assert not paces.leaves(SLOW, BOTH, 11)
    assert not paces.leaves(FAST, BOTH, 1)
    assert not paces.leaves(SLOW, [SLOW], 1)


def test_what_the_fast_one_is_computing_comes_first(paces: Paces, clock: Clock) -> None:
    paces.began(FAST)
    assert paces.leaves(SLOW, BOTH, 9)
    assert not paces.leaves(SLOW, BOTH, 10)
    clock.now += 1.5
    # Half a second is left of its shard: then 9.75 more.
    assert paces.leaves(SLOW, BOTH, 9)
    assert not paces.leaves(SLOW, BOTH, 10)


def test_a_slot_that_is_overdue_is_not_counted_on(paces: Paces, clock: Clock) -> None:
    paces.began(FAST)
    clock.now += 4.0
    assert paces.leaves(SLOW, BOTH, 1)
    clock.now += 0.1
    assert not paces.leaves(SLOW, BOTH, 1)


def test_the_first_shard_of_a_slot_and_lost_ones_are_not_measured(paces: Paces, clock: Clock) -> None:
    new = Slot("2" * 32, 0, "c")
    compute(paces, clock, new, 500.0)
    assert not paces.leaves(new, [*BOTH, new], 1)
    paces.began(new)
    clock.now += 500.0
    paces.ended(new, is_done=False)
    assert not paces.leaves(new, [*BOTH, new], 1)


def test_one_long_time_makes_no_slot_a_slow_one(paces: Paces, clock: Clock) -> None:
    # It waited for work of another run, or this process was suspended.
    compute(paces, clock, FAST, 600.0)
    assert not paces.leaves(FAST, BOTH, 1)
    other = Slot("2" * 32, 0, "c")
    for _ in range(2):
        compute(paces, clock, other, 2.0)
    assert not paces.leaves(FAST, (FAST, other), 1)
    compute(paces, clock, FAST, 600.0)
    assert paces.leaves(FAST, (FAST, other), 1)


def test_a_slow_slot_is_tried_again_later(paces: Paces, clock: Clock) -> None:
    clock.now += 50 * 20.0
    assert paces.leaves(SLOW, BOTH, 1)
    clock.now += 0.1
    assert not paces.leaves(SLOW, BOTH, 1)


def test_equal_slots_do_not_wait_for_each_other(clock: Clock) -> None:
    paces = Paces(clock)
    for slot in BOTH:
        for _ in range(2):
            compute(paces, clock, slot, 3.0)
    assert not any(paces.leaves(slot, BOTH, 1) for slot in BOTH)


def finished_at(seconds: Sequence[float], num_shards: int, *, may_leave: bool) -> float:
    """Simulate a step; return when its last shard is done. Free slots are asked in their order."""
    clock = Clock()
    paces = Paces(clock)
    slots = [Slot("1" * 32, number, "a") for number in range(len(seconds))]
    for slot, own in zip(slots, seconds, strict=True):
        for _ in range(2):
            compute(paces, clock, slot, own)
    start, running, waiting, done = clock.now, list[tuple[float, int]](), num_shards, 0
    while done < num_shards:
        busy = {number for _, number in running}
        for number, slot in enumerate(slots):
            if waiting and number not in busy and not (may_leave and paces.leaves(slot, slots, waiting)):
                paces.began(slot)
                heapq.heappush(running, (clock.now + seconds[number], number))
                waiting -= 1
        assert running, "a shard waits for nobody"
        clock.now, number = heapq.heappop(running)
        paces.ended(slots[number], is_done=True)
        done += 1
    return clock.now - start


def test_no_step_ends_later_and_many_end_sooner() -> None:
    random = Random(5)  # noqa: S311 - a simulation
    sooner = 0
    for _ in range(400):
        seconds = [
            random.choice([0.5, 1.0, 3.0, 20.0]) * random.uniform(0.9, 1.1)
            for _ in range(random.randint(1, 6))
        ]
        num_shards = random.randint(1, 16)
        plain = finished_at(seconds, num_shards, may_leave=False)
        ours = finished_at(seconds, num_shards, may_leave=True)
        assert ours <= plain + 1e-6
        sooner += ours < 0.8 * plain
    assert sooner > 80

"""Lengths of batches: each rule computed by hand, and all together against a simulated run."""

from __future__ import annotations

import dataclasses
import heapq
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.coordinator.jobs import (
    MAX_BATCH,
    Lengths,
    are_pair,
    batch_size,
    first_size,
    share,
)
from arena.executor.record import void_record
from arena_plugins import Termination
from tournaments import TRIO, Sitting, config

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.coordinator.config import TournamentConfig
    from arena.executor.job import Job
    from arena_db.records import MatchRecord

    Begin = Callable[[TournamentConfig], Sitting]

PAIRS = (False, True)


def of_pairs(seconds: float, num: int) -> list[tuple[float, bool]]:
    return [(seconds, PAIRS[at % 2]) for at in range(num)]


@pytest.mark.parametrize(
    ("expected", "most", "size"),
    [
        ([], 10, 0),
        (of_pairs(0.1, 100), 1000, 20),
        (of_pairs(0.1, 7), 1000, 7),
        (of_pairs(0.0, 5000), 1000, 1000),
        # A pair stays together, unless a batch should have only one match.
        (of_pairs(0.1, 100), 7, 8),
        (of_pairs(0.3, 100), 1000, 6),
        (of_pairs(0.45, 100), 1000, 4),
        (of_pairs(0.7, 100), 1000, 2),
        (of_pairs(0.1, 100), 1, 1),
        # A match that is longer than a batch is a batch of its own, as is each match of its pair.
        (of_pairs(60.0, 100), 1000, 1),
        (of_pairs(1.0, 100), 1000, 2),
        (of_pairs(1.2, 100), 1000, 1),
        # One long match ends the batch before it.
        ([(0.1, False), (0.1, False), (9.0, False), (0.1, False)], 1000, 2),
        ([(0.1, False)] * 100, 7, 7),
    ],
)
def test_a_batch_lasts_two_seconds(expected: list[tuple[float, bool]], most: int, size: int) -> None:
    assert batch_size(iter(expected), most, 2.0) == size


@given(st.integers(1, 10**6), st.integers(1, 64))
def test_batches_shrink_towards_the_end(num_left: int, num_slots: int) -> None:
    size = share(num_left, num_slots)
    assert 1 <= size <= min(num_left, MAX_BATCH)
    assert size == MAX_BATCH or size * 2 * num_slots < num_left + 2 * num_slots


@given(st.integers(0, 10**6), st.integers(1, 64))
def test_the_first_batches_are_small(num_batches: int, num_slots: int) -> None:
    size = first_size(num_batches, num_slots)
    assert 1 <= size <= MAX_BATCH
    assert size == 1 or num_batches >= 2 * num_slots
    assert size == MAX_BATCH or num_batches < 10 * num_slots


@given(st.integers(1, 3000), st.integers(1, 16), st.sampled_from([0.001, 0.01, 0.1, 1.0, 60.0]))
def test_slots_end_together(num_matches: int, num_slots: int, seconds: float) -> None:
    free = [0.0] * num_slots
    heapq.heapify(free)
    num_left, num_batches = num_matches, 0
    while num_left:
        most = min(first_size(num_batches, num_slots), share(num_left, num_slots))
        size = batch_size(((seconds, False) for _ in range(num_left)), most, 2.0)
        assert 1 <= size <= most
        num_left, num_batches = num_left - size, num_batches + 1
        heapq.heappush(free, heapq.heappop(free) + size * seconds)
    # The last batch has one match, so no slot waits longer than for one match.
    assert max(free) - min(free) <= 2 * seconds + 1e-6


def played(job: Job, started_at: float, duration_ms: int) -> MatchRecord:
    void = void_record(job, Termination.ABORTED)
    return dataclasses.replace(void, started_at=started_at, duration_ms=duration_ms)


def test_lengths_follow_the_last_matches_of_each_encounter(begin: Begin) -> None:
    one, swapped, *_, other = begin(config(*TRIO)).jobs()
    lengths = Lengths()
    assert (lengths.expected(one), lengths.num_in(2.0)) == (0.0, MAX_BATCH)
    lengths.note([])
    lengths.note([played(one, 100.0, 100), played(swapped, 100.5, 300)])
    # The first match lasted until the second began, including everything in between.
    assert lengths.expected(one) == lengths.expected(swapped) == pytest.approx(0.4)
    assert lengths.expected(other) == pytest.approx(0.4), "nobody knows better yet"
    lengths.note([played(other, 200.0, 8000)])
    assert lengths.expected(other) == pytest.approx(8.0)
    assert lengths.expected(one) == pytest.approx(0.4)
    assert lengths.num_in(2.0) == 1
    for _ in range(32):
        lengths.note([played(swapped, 300.0, 1000)])
    assert lengths.expected(one) == pytest.approx(1.0), "the first ones are forgotten"
    # A clock that was set back does not make a match shorter.
    lengths = Lengths()
    lengths.note([played(one, 100.0, 200), played(swapped, 50.0, 200)])
    assert lengths.expected(one) == pytest.approx(0.2)
    assert lengths.num_in(2.0) == 10


def test_a_pair_swaps_sides(begin: Begin) -> None:
    jobs = begin(config(*TRIO, rounds=2)).jobs()
    assert [are_pair(*pair) for pair in pairwise(jobs)][:4] == [True, False, True, False]
    first, second, *_ = jobs
    assert not are_pair(second, first)
    assert not are_pair(first, msgspec.structs.replace(second, opening=(*second.opening, 0)))
    assert not are_pair(first, msgspec.structs.replace(second, first=first.first, second=first.second))

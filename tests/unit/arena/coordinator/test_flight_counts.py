"""Running counts of matches in flight agree with a count over all batches."""

from __future__ import annotations

import random
from collections import Counter
from concurrent.futures import Future
from typing import TYPE_CHECKING, NamedTuple, cast

import pytest

from arena.coordinator.jobs import Flights
from arena.executor.slots import Slot

if TYPE_CHECKING:
    from arena.executor.job import Job
    from arena_db.records import MatchRecord

    Records = list[MatchRecord]

SLOTS = [Slot("machine", number, "start") for number in range(4)]


class Numbered(NamedTuple):
    """A job or a record of which only the number matters."""

    number: int


def jobs(*numbers: int) -> list[Job]:
    return cast("list[Job]", list(map(Numbered, numbers)))


def records(*numbers: int) -> Records:
    return cast("Records", list(map(Numbered, numbers)))


@pytest.fixture
def flights() -> Flights:
    return Flights()


def submit(flights: Flights, slot: Slot, *numbers: int) -> Future[Records]:
    future: Future[Records] = Future()
    flights.add(future, slot, jobs(*numbers))
    return future


@pytest.mark.parametrize("seed", range(20))
def test_counts_agree_with_all_batches(flights: Flights, seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311 - a simulation
    known: dict[Future[Records], tuple[Slot, set[int]]] = {}
    ended: set[Future[Records]] = set()
    for start in range(0, 300, 3):
        slot = rng.choice(SLOTS)
        numbers = range(start, start + rng.randint(1, 3))
        known[submit(flights, slot, *numbers)] = slot, set(numbers)
        for future in rng.sample(list(known), rng.randint(0, min(2, len(known)))):
            left = known[future][1]
            if rng.random() < 0.5 and left:
                landed = rng.choice(sorted(left))
                # The same result may arrive twice.
                flights.land(records(landed, landed))
                left.remove(landed)
            elif rng.random() < 0.5 and not future.done():
                future.set_result([])
                ended.add(future)
                assert flights.has_ended
            else:
                flight = flights.remove(future)
                assert (flight.slot, set(flight.jobs)) == known.pop(future)
                ended.discard(future)
        if rng.random() < 0.3:
            assert flights.wait(0) == ended
            for future in ended:
                flights.remove(future)
                del known[future]
            ended = set()
        assert dict(flights.load) == Counter(slot for slot, _ in known.values())
        assert set(flights.numbers) == set[int]().union(*(left for _, left in known.values()))
        assert [future for future, _ in flights.items()] == list(known)
        slots = [slot for slot, _ in known.values()]
        behind = [future for place, future in enumerate(known) if slots[place] in slots[:place]]
        assert [future for future, _ in flights.waiting()] == behind
        assert bool(flights) == bool(known)
        assert flights.has_ended == bool(ended)


def test_a_removed_batch_that_ends_later_is_no_news(flights: Flights) -> None:
    first, second = submit(flights, SLOTS[0], 1), submit(flights, SLOTS[0], 2)
    first.set_result([])
    flights.remove(first)
    assert second.cancel()
    flights.remove(second)
    assert not flights.has_ended
    assert not flights


def test_an_end_is_returned_once(flights: Flights) -> None:
    future = submit(flights, SLOTS[0], 1)
    assert flights.wait(0) == set()
    future.set_result([])
    assert flights.wait(60) == {future}
    assert not flights.has_ended
    assert flights.wait(0) == set()

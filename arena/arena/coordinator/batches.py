"""How many matches a batch has: about two seconds of play, few at first, and fewer again near the end."""

from __future__ import annotations

import math
from collections import deque
from itertools import zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from arena.executor.job import Job
    from arena_db.records import MatchRecord

MAX_BATCH = 1000
"""Matches of one batch, however quick they are."""
_NUM_RECENT = 32
"""Matches of an encounter whose mean says how long its next one takes."""


class Mean:
    """The mean of the newest values of a series."""

    def __init__(self) -> None:
        self._values: deque[float] = deque()
        self._sum = 0.0

    def add(self, value: float) -> None:
        """Add a value; the oldest goes once there are enough."""
        self._values.append(value)
        self._sum += value
        if len(self._values) > _NUM_RECENT:
            self._sum -= self._values.popleft()

    @property
    def value(self) -> float:
        """The mean; 0 while there is nothing."""
        return max(0.0, self._sum / len(self._values)) if self._values else 0.0


class Lengths:
    """How long matches take, by encounter, from those that were played last."""

    def __init__(self) -> None:
        self._encounters: dict[tuple[str, str], Mean] = {}
        self._all = Mean()

    def note(self, records: Sequence[MatchRecord]) -> None:
        """Learn from matches that one slot played one after the other.

        From one start to the next it is more than the match: starting bots and writing logs count too.
        """
        for record, after in zip_longest(records, records[1:]):
            seconds = record.duration_ms / 1000
            if after is not None:
                # Never less than the match itself: somebody may have set the clock.
                seconds = max(seconds, after.started_at - record.started_at)
            key = _key(record.first, record.second)
            self._encounters.setdefault(key, Mean()).add(seconds)
            self._all.add(seconds)

    def expected(self, job: Job) -> float:
        """Return the seconds that a match will take; those of others before the first of its encounter."""
        known = self._encounters.get(_key(job.first.record.identity, job.second.record.identity), self._all)
        return known.value

    def num_in(self, seconds: float) -> int:
        """Return how many matches as they were lately fit into this time, at most `MAX_BATCH`."""
        return min(MAX_BATCH, math.ceil(seconds / max(self._all.value, seconds / MAX_BATCH)))


def _key(first: str, second: str) -> tuple[str, str]:
    return (first, second) if first < second else (second, first)


def are_pair(first: Job, second: Job) -> bool:
    """Return whether a match is that of the other one with sides swapped, from the same opening."""
    return (
        second.number == first.number + 1
        and first.opening == second.opening
        and first.first.label == second.second.label
        and first.second.label == second.first.label
    )


def batch_size(expected: Iterable[tuple[float, bool]], most: int, batch_s: float) -> int:
    """Return how many of the next matches make a batch; at least 1 if there is one.

    A pair is not split only because of the number of matches, unless `most` is 1: near the end two slots
    rather play one match of it each.

    Args:
        expected: of each match in turn the seconds it will take, and whether it is the second of its pair.
        most: as many as there should be at most.
        batch_s: seconds that the batch should last.
    """
    size, total = 0, 0.0
    for seconds, is_second in expected:
        total += seconds
        stays = is_second and most > 1 and 2 * seconds <= batch_s
        if size and not stays and (size >= most or total > batch_s):
            break
        size += 1
    return size


def share(num_left: int, num_slots: int) -> int:
    """Return the most matches of the next batch of those that are left, so that all slots end together."""
    return min(MAX_BATCH, math.ceil(num_left / (2 * num_slots)))


def first_size(num_batches: int, num_slots: int) -> int:
    """Return the most matches of the batch after `num_batches` others: few at first, so as to see results."""
    return min(MAX_BATCH, 4 ** min(5, num_batches // (2 * num_slots)))

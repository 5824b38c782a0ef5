"""Which matches a dead worker took with it, and which of them is to blame."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from arena.executor.job import Job

MAX_LOSSES = 3
"""A match that was being played when this many workers died is not tried again."""


class Recovery:
    """Keeps the matches that were running when a worker died.

    One dead worker breaks the whole pool, so a match that merely ran beside the guilty one is a suspect, too.
    A match lost twice is played alone, with nothing beside it: the third loss proves its guilt.
    """

    def __init__(self) -> None:
        self._running: set[int] = set()
        self._losses: Counter[int] = Counter()

    def began(self, number: int) -> None:
        """Note that a worker began a match."""
        self._running.add(number)

    def ended(self, number: int) -> None:
        """Note that the record of a match arrived."""
        self._running.discard(number)

    def running(self, jobs: Iterable[Job]) -> list[Job]:
        """Pick the jobs that were begun and have not ended."""
        return [job for job in jobs if job.number in self._running]

    def lost(self, jobs: Iterable[Job]) -> list[Job]:
        """Note that these batches are lost with their worker; give the matches that are proven guilty."""
        suspects = self.running(jobs)
        for job in suspects:
            self._losses[job.number] += 1
            self._running.discard(job.number)
        return [job for job in suspects if self._losses[job.number] >= MAX_LOSSES]

    def must_be_alone(self, job: Job) -> bool:
        """Tell whether a match is played with nothing beside it."""
        return self._losses[job.number] == MAX_LOSSES - 1

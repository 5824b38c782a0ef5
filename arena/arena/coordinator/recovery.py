"""Which matches a dead worker took with it, and which of them is to blame."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from arena.executor.job import Job
    from arena.executor.worker import Began

MAX_LOSSES = 3
"""A match that was being played when this many workers died is not tried again."""


class Recovery:
    """Keeps the match that each worker plays.

    One dead worker breaks the whole pool, so a match that merely ran beside the guilty one is a suspect, too.
    A match lost twice is played alone, with nothing beside it: the third loss proves its guilt.
    """

    def __init__(self) -> None:
        self._playing: dict[int, int] = {}
        self._losses: Counter[int] = Counter()

    def began(self, began: Began) -> None:
        """Note that a worker began a match; so the one it played before has ended."""
        self._playing[began.worker] = began.number

    def playing(self, jobs: Iterable[Job]) -> list[Job]:
        """Pick the jobs that were being played."""
        running = set(self._playing.values())
        return [job for job in jobs if job.number in running]

    def lost(self, jobs: Iterable[Job]) -> list[Job]:
        """Note that all workers died with the batches of these jobs; give the matches proven guilty."""
        suspects = self.playing(jobs)
        self._playing.clear()
        self._losses.update(job.number for job in suspects)
        return [job for job in suspects if self._losses[job.number] >= MAX_LOSSES]

    def must_be_alone(self, job: Job) -> bool:
        """Tell whether a match is played with nothing beside it."""
        return self._losses[job.number] >= MAX_LOSSES - 1

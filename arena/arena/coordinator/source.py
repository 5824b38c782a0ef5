"""The interface to the source of a run's matches: a schedule that plans ahead, or a person at a board."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from arena.coordinator.run_events import BotWithdrawn
    from arena.executor.job import Job


class JobSource(Protocol):
    """Returns the matches of a tournament that this process holds; each is stored as planned before that."""

    total: int | None
    """Number of matches of the whole tournament; None while it cannot be known."""
    decision: str
    """The decision of the tournament; empty before there is one."""
    is_open: bool
    """Whether bots join and leave while it is played."""
    is_urgent: bool
    """Whether the jobs returned last go before all queued ones."""
    batch_size: int
    """Maximum number of matches per batch; set by the run as it learns how long matches take."""
    num_workers: int
    """Number of slots; set by the run, because worker machines come and go."""

    @property
    def is_exhausted(self) -> bool:
        """Whether no more jobs will be returned."""
        ...

    def more(self, num_queued: int, running: Collection[int]) -> list[Job]:
        """Return further jobs, if it is time for some.

        Args:
            num_queued: number of jobs that were returned and have not begun.
            running: numbers of the running matches.

        Raises:
            ArenaError: the next matches cannot be planned.
            DatabaseError: the plan cannot be stored.
        """
        ...

    def renew(self, jobs: Sequence[Job]) -> Sequence[Job]:
        """Return the jobs that wait, with their bots looked for anew, after one could not be played.

        Files of a bot may have been removed meanwhile.
        """
        ...

    def withdraw(self, label: str, why: str) -> None:
        """Withdraw a bot from an event that bots leave at any time; its matches are dropped."""
        ...

    def take_gone(self) -> Sequence[int]:
        """Return once the numbers of returned jobs that are no longer needed."""
        ...

    def take_withdrawn(self) -> Sequence[BotWithdrawn]:
        """Return once each bot that the source has withdrawn."""
        ...

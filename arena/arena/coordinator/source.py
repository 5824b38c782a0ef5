"""Where the matches of a run come from: a schedule that plans ahead, or a person at a board."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from arena.executor.job import Job


class JobSource(Protocol):
    """Hands out the matches of an event that this process holds; each is stored as planned before that."""

    total: int | None
    """Matches that are to be played in all; None where nobody can know yet."""
    decision: str
    """What the event has decided; empty before."""
    is_open: bool
    """Whether bots join and leave while it is played."""
    is_urgent: bool
    """Whether the jobs handed out last go before all that wait."""
    batch_size: int
    """Matches that a slot takes at once, at most; the run sets it as it learns how long they take."""
    num_workers: int
    """Slots that play; the run sets it, as worker machines come and go."""

    @property
    def is_exhausted(self) -> bool:
        """Whether nothing will be handed out any more."""
        ...

    def more(self, num_queued: int, running: Collection[int]) -> list[Job]:
        """Return further jobs, if it is time for some.

        Args:
            num_queued: jobs that were handed out and not begun.
            running: numbers of the matches that are being played.

        Raises:
            ArenaError: what is to be played next cannot be planned.
            DatabaseError: the plan cannot be stored.
        """
        ...

    def take_gone(self) -> Sequence[int]:
        """Return once the numbers of jobs that were handed out and are not needed any more."""
        ...

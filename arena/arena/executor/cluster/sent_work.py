"""Work that a run has sent to a slot."""

from __future__ import annotations

from abc import ABC, abstractmethod
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from arena.executor.slots import WorkerLostError

if TYPE_CHECKING:
    from arena.executor.slots import Slot


class SentWork(Future[Any], ABC):
    """Work at a slot: a batch of matches, or a shard of self-play."""

    def __init__(self, number: int, slot: Slot) -> None:
        super().__init__()
        self.number, self.slot = number, slot

    def lose(self) -> None:
        """End it because its slot was lost."""
        self.set_exception(WorkerLostError(self.slot))

    @abstractmethod
    def give_back(self) -> None:
        """End it without a result, since its slot ended before it started."""

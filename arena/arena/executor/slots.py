"""Slots: the parts of a pool that play one match at a time each."""

from __future__ import annotations

import os
from concurrent.futures import BrokenExecutor
from typing import Literal, NamedTuple, TypeAlias

HERE = "here"
"""Stands for the coordinator's own machine in place of a uuid."""

SpeedRule: TypeAlias = Literal["pin", "scale", "ignore"]
"""What a run does about the speed of worker machines. `pin`: only machines of similar speed play; `scale`:
bots on a slow machine get more time, on a fast one less; `ignore`: nothing."""


class Slot(NamedTuple):
    """The identity of one slot from its start to its end; the slot that replaces it has another `start`.

    A process id would not be unique: two machines may use the same one, and one machine reuses them.
    """

    machine: str
    """Uuid of the machine, or `HERE`."""
    number: int
    """Index of the slot on its machine, from 0."""
    start: str
    """32 hex digits drawn at random whenever the slot starts."""

    @classmethod
    def here(cls, number: int) -> Slot:
        """Return the identity of a slot that starts now on this machine."""
        return cls(HERE, number, os.urandom(16).hex())


class WorkerLostError(BrokenExecutor):
    """A slot died together with its batches; all other slots continue."""

    def __init__(self, slot: Slot) -> None:
        super().__init__(f"the worker of slot {slot.number} died")
        self.slot = slot
        """The slot that died."""


class WrongResultError(BrokenExecutor):
    """A slot sent something that cannot be the result of its batch; the rest of that batch is discarded."""

    def __init__(self, slot: Slot, why: str) -> None:
        super().__init__(why)
        self.slot = slot
        """The slot that sent it."""


class PoolLostError(BrokenExecutor):
    """The connection to all slots is broken; results in transit may be lost, and no match is to blame."""


class UnplayedError(BrokenExecutor):
    """A slot returned its work unplayed: it ends, or its machine lacks something."""


class ShardFailedError(BrokenExecutor):
    """The function of a shard raised an exception at a slot; the message is that of the exception."""

"""Slots: the places of a pool that each play one match at a time."""

from __future__ import annotations

import os
from concurrent.futures import BrokenExecutor
from typing import NamedTuple

HERE = "here"
"""The machine of the coordinator itself."""


class Slot(NamedTuple):
    """The identity of one slot from its start to its death; its successor has another `start`.

    A process id would not do: two machines share them, and a machine uses them again.
    """

    machine: str
    """Uuid of the machine, or `HERE`."""
    number: int
    """Which of the slots of this machine, from 0."""
    start: str
    """Drawn anew whenever the slot starts."""

    @classmethod
    def here(cls, number: int) -> Slot:
        """Return a slot of this machine that starts now."""
        return cls(HERE, number, os.urandom(16).hex())


class WorkerLostError(BrokenExecutor):
    """A slot died with the batches it had; all other slots play on."""

    def __init__(self, slot: Slot) -> None:
        super().__init__(f"the worker of slot {slot.number} died")
        self.slot = slot
        """The slot that died."""


class WrongResultError(BrokenExecutor):
    """A slot sent what cannot be the result of its batch; nothing of that batch is kept after it."""

    def __init__(self, slot: Slot, why: str) -> None:
        super().__init__(why)
        self.slot = slot
        """The slot that sent it."""


class PoolLostError(BrokenExecutor):
    """The way to all slots is broken; what they played last may be lost, and no match is to blame."""

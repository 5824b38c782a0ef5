"""Measures how long slots take for a shard, so that a slow one does not hold up a training step."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from arena.executor.slots import Slot

_FORGET: Final = 50
"""A slot that computed nothing for this many times its own time is tried again: its machine may have been
busy. That makes one step longer, by its time at most, so it costs 2 %."""
_OVERDUE: Final = 2.0
"""A slot that takes more than this multiple of its time is not counted on: it may be stopped, or about to be
lost."""


class _Pace(NamedTuple):
    """The time of a slot's last shard."""

    seconds: float
    measured_at: float


class Paces:
    """The seconds that each slot took for its last shard.

    The first shard of a slot is not measured, because kernels are compiled and networks are loaded in it.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Know no slot yet; `clock` returns seconds."""
        self._clock = clock
        self._began: dict[Slot, float] = {}
        """When each busy slot began its shard."""
        self._warm: set[Slot] = set()
        """Slots that have computed a shard."""
        self._paces: dict[Slot, _Pace] = {}

    def began(self, slot: Slot) -> None:
        """Record that a slot was sent a shard."""
        self._began[slot] = self._clock()

    def ended(self, slot: Slot, *, is_done: bool) -> None:
        """Record that a slot is free again; `is_done` if it returned a right result."""
        now = self._clock()
        began = self._began.pop(slot)
        if is_done and slot in self._warm:
            self._paces[slot] = _Pace(now - began, now)
        elif is_done:
            self._warm.add(slot)

    def leaves(self, slot: Slot, slots: Iterable[Slot], num_waiting: int) -> bool:
        """Return whether a free slot should leave the waiting shards to faster slots.

        It should if these finish all of them before it would finish one. The fastest slot leaves none, so a
        shard never waits for nobody.

        Args:
            slot: the free slot.
            slots: all slots that may be sent a shard.
            num_waiting: the number of shards that no slot has, at least 1.
        """
        own, now = self._paces.get(slot), self._clock()
        if own is None or now - own.measured_at > _FORGET * own.seconds:
            return False
        can_finish = 0
        for other in slots:
            # Even a time measured long ago: a fast slot is idle for most of a step with slow ones.
            seconds = self._paces.get(other, own).seconds
            if seconds < own.seconds:
                elapsed = now - self._began.get(other, now - seconds)
                if elapsed <= _OVERDUE * seconds:
                    can_finish += int((own.seconds - max(0.0, seconds - elapsed)) / seconds)
        return can_finish >= num_waiting

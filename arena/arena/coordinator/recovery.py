"""What follows from lost batches, on one machine as on many: which match, or which machine, is to blame."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

from arena.executor.slots import HERE

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from arena.executor.slots import Slot
    from arena.executor.worker import Began

MAX_LOSSES = 3
"""A match that was being played when this many slots died is not tried again; a machine that loses as many by
different matches is put aside."""
ASIDE_S = 600.0
"""Seconds in which losses of a machine are counted, and for which it is put aside."""


class PutAside(NamedTuple):
    """A machine that plays nothing for some time."""

    machine: str
    why: str


class Recovery:
    """Keeps the match that each slot plays, and what was lost.

    Each slot is a failure domain of its own: what merely ran at the same time elsewhere is no suspect.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Know of no loss yet; `clock` gives seconds."""
        self._clock = clock
        self._playing: dict[Slot, int] = {}
        self._losses: defaultdict[int, Counter[str]] = defaultdict(Counter)
        """By match, how many slots of each machine died while they played it."""
        self._early: Counter[tuple[str, int]] = Counter()
        self._machines: frozenset[str] = frozenset()
        self._by_machine: defaultdict[str, dict[int, float]] = defaultdict(dict)
        """By machine, when which match was lost last."""
        self._aside: dict[str, float] = {}
        """Until when a machine that lost slots is put aside."""
        self._wrong: dict[str, float] = {}
        """The same of a machine that sent wrong results."""

    def usable(self, slots: Iterable[Slot]) -> list[Slot]:
        """Return the slots of machines that are not put aside; remember which machines there are.

        Where all machines lose slots the matches are to blame: then none is put aside for it.
        """
        found = list(slots)
        self._machines = frozenset(slot.machine for slot in found)
        now = self._clock()
        wrong = {machine for machine, until in self._wrong.items() if until > now}
        aside = {machine for machine, until in self._aside.items() if until > now}
        if self._machines - wrong <= aside:
            aside = set[str]()
        return [slot for slot in found if slot.machine not in wrong | aside] if wrong | aside else found

    def began(self, began: Began) -> None:
        """Note that a slot began a match; so the one it played before has ended."""
        self._playing[began.slot] = began.number

    def lost(self, slot: Slot, numbers: Collection[int]) -> int | None:
        """Return which of the matches that a slot had was being played when it died; None if none was."""
        number = self._playing.pop(slot, None)
        if number is None or number not in numbers:
            self._early[slot.machine, slot.number] += 1
            return None
        self._losses[number][slot.machine] += 1
        self._by_machine[slot.machine][number] = self._clock()
        return number

    def find_aside(self, machine: str) -> PutAside | None:
        """Put a machine aside that loses slot after slot while another one is there; None if not needed."""
        now = self._clock()
        lost = [number for number, at in self._by_machine[machine].items() if now - at < ASIDE_S]
        if (
            len(lost) < MAX_LOSSES
            or len(self._machines | {machine}) == 1
            or self._aside.get(machine, 0) > now
        ):
            return None
        self._aside[machine] = now + ASIDE_S
        return PutAside(machine, f"{len(lost)} slots died in {ASIDE_S / 60:.0f} min, each by another match")

    def was_wrong(self, machine: str) -> None:
        """Put a machine aside that sent what cannot be the result of its batch."""
        self._wrong[machine] = self._clock() + ASIDE_S

    def avoids(self, number: int, machine: str) -> bool:
        """Return whether a match is tried on another machine next, to see which of both is to blame."""
        losses = self._losses.get(number)
        if losses is None or len(self._machines) == 1:
            return False
        return set(losses) == {machine} and losses.total() >= MAX_LOSSES - 1

    def avoided(self, numbers: Sequence[int]) -> set[str]:
        """Return the machines that none of these matches may be played on, of few or suspect matches."""
        if not 0 < len(numbers) <= len(self._losses):
            return set()
        return {
            machine for machine in self._machines if all(self.avoids(number, machine) for number in numbers)
        }

    def is_guilty(self, number: int) -> bool:
        """Return whether so many slots died while they played a match that it is not tried again.

        They were those of two machines at least, where there are two.
        """
        losses = self._losses[number]
        return losses.total() >= MAX_LOSSES and len(losses) >= min(2, len(self._machines))

    def lasted(self) -> None:
        """Note that matches were played, so that slots do come up."""
        self._early.clear()

    @property
    def is_hopeless(self) -> bool:
        """Whether a slot of this machine died again and again, and no match was played meanwhile.

        Worker machines look after their own slots.
        """
        return any(num >= MAX_LOSSES for (machine, _), num in self._early.items() if machine == HERE)

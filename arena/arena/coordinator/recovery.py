"""Recovery from lost workers: finds the match or the machine that is to blame."""

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
"""Limit of losses: a match during which this number of slots died is not tried again, and a machine that
loses this number of slots by different matches is excluded."""
ASIDE_S = 600.0
"""Seconds for which losses of a machine are counted, and for which it is excluded: later it may have been
repaired."""


class PutAside(NamedTuple):
    """A machine that is excluded from play for some time."""

    machine: str
    why: str


class Recovery:
    """Tracks the running match of each slot, and losses.

    Each slot is a failure domain of its own: a match that merely ran at the same time elsewhere is no
    suspect.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, what: str = "match") -> None:
        """Prepare an empty record; `clock` returns seconds, `what` is the word for a task in messages."""
        self._clock = clock
        self._what = what
        self._playing: dict[Slot, int] = {}
        self._losses: defaultdict[int, Counter[str]] = defaultdict(Counter)
        """By match, how many slots of each machine died while they played it."""
        self._early: Counter[tuple[str, int]] = Counter()
        self._machines: frozenset[str] = frozenset()
        self._by_machine: defaultdict[str, dict[int, float]] = defaultdict(dict)
        """By machine and match, the time of its last loss."""
        self._aside: dict[str, float] = {}
        """By machine that lost slots, the time until which it is excluded."""
        self._wrong: dict[str, float] = {}
        """By machine that sent wrong results, the time until which it is excluded."""

    def usable(self, slots: Iterable[Slot]) -> list[Slot]:
        """Return the slots of machines that are not excluded; remember the present machines.

        If all machines lose slots, the matches are to blame, so no machine is excluded for its losses.
        """
        found = list(slots)
        self._machines = frozenset(slot.machine for slot in found)
        now = self._clock()
        wrong = {machine for machine, until in self._wrong.items() if until > now}
        aside = {machine for machine, until in self._aside.items() if until > now}
        # If this excluded every remaining machine, the matches are to blame.
        if self._machines - wrong <= aside:
            aside = set[str]()
        return [slot for slot in found if slot.machine not in wrong | aside] if wrong | aside else found

    def began(self, began: Began) -> None:
        """Record that a slot began a match; its previous match has therefore ended."""
        self._playing[began.slot] = began.number

    def lost(self, slot: Slot, numbers: Collection[int]) -> int | None:
        """Return which of a dead slot's matches was running when it died; None if none was."""
        number = self._playing.pop(slot, None)
        if number is None or number not in numbers:
            # The slot died before it began a match, so no match is to blame.
            self._early[slot.machine, slot.number] += 1
            return None
        self._losses[number][slot.machine] += 1
        # By match, so that one bad match counts only once against its machine.
        self._by_machine[slot.machine][number] = self._clock()
        return number

    def find_aside(self, machine: str) -> PutAside | None:
        """Exclude a machine that loses slot after slot while there is another one.

        None if that is not needed.
        """
        now = self._clock()
        lost = [number for number, at in self._by_machine[machine].items() if now - at < ASIDE_S]
        if (
            len(lost) < MAX_LOSSES
            # The only machine is never excluded.
            or len(self._machines | {machine}) == 1
            or self._aside.get(machine, 0) > now
        ):
            return None
        self._aside[machine] = now + ASIDE_S
        return PutAside(
            machine, f"{len(lost)} slots died in {ASIDE_S / 60:.0f} min, each by another {self._what}"
        )

    def was_wrong(self, machine: str) -> None:
        """Exclude a machine that sent results which cannot belong to its batch."""
        self._wrong[machine] = self._clock() + ASIDE_S

    def was_lost(self, number: int) -> bool:
        """Return whether a slot died while it played this match."""
        return number in self._losses

    def avoids(self, number: int, machine: str) -> bool:
        """Return whether a match should be tried on another machine next, to find out which is to blame."""
        losses = self._losses.get(number)
        if losses is None or len(self._machines) == 1:
            return False
        # One loss below the limit, all on this machine: a last try elsewhere tells match and machine apart.
        return set(losses) == {machine} and losses.total() >= MAX_LOSSES - 1

    def avoided(self, numbers: Sequence[int]) -> set[str]:
        """Return the machines on which none of these matches may be played."""
        if not 0 < len(numbers) <= len(self._losses):
            return set()
        return {
            machine for machine in self._machines if all(self.avoids(number, machine) for number in numbers)
        }

    def is_guilty(self, number: int) -> bool:
        """Return whether a match is not tried again, because too many slots died while they played it.

        They must have been on at least two machines, if there are two.
        """
        losses = self._losses[number]
        return losses.total() >= MAX_LOSSES and len(losses) >= min(2, len(self._machines))

    def lasted(self) -> None:
        """Record that matches were played, which shows that slots do start."""
        self._early.clear()

    @property
    def is_hopeless(self) -> bool:
        """Whether a slot of this machine died again and again while no match was played.

        Worker machines supervise their own slots.
        """
        return any(num >= MAX_LOSSES for (machine, _), num in self._early.items() if machine == HERE)

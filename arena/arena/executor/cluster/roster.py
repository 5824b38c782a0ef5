"""The slots that a run knows, and which of them can play its matches."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, NamedTuple

from arena.executor.cluster.facts import find_lack, median_speed

if TYPE_CHECKING:
    from arena.executor.cluster.facts import Lack, Wanted, WorkerFacts
    from arena.executor.slots import Slot

_PATIENCE_S: Final = 3.0
"""Seconds without a usable slot after which the user is told what the run waits for."""
_LACKS_BOT: Final = 9
"""The step of a machine that meets all requirements except for a bot."""


class RefusedMachine(NamedTuple):
    """A machine that cannot take part."""

    machine: str
    why: str
    """Empty if it can take part again."""


class Roster:
    """Keeps the connected slots; not thread-safe."""

    def __init__(self, wanted: Wanted, *, starts_its_own: bool = False) -> None:
        """Start without slots.

        Args:
            wanted: requirements of the run on machines.
            starts_its_own: whether the run starts the slots itself, so that nobody else has to.
        """
        self._wanted = wanted
        self._starts_its_own = starts_its_own
        self._slots: dict[Slot, WorkerFacts] = {}
        self._eligible: list[Slot] = []
        self._lacks: dict[str, Lack] = {}
        self._bot_lacks: dict[str, Lack] = {}
        self._median = 0.0
        self._is_settled = False
        self._has_summed = False
        self._missing_since = time.monotonic()
        self._waits_for = ""

    @property
    def eligible(self) -> list[Slot]:
        """The slots that can play."""
        return self._eligible

    def __contains__(self, slot: object) -> bool:
        """Return whether a slot is connected."""
        return slot in self._slots

    def add(self, slot: Slot, facts: WorkerFacts) -> list[RefusedMachine]:
        """Add a connected slot; return the machines whose refusal changed."""
        self._slots[slot] = facts
        # A missing package may have been installed since.
        self._bot_lacks.pop(slot.machine, None)
        return self._judge()

    def remove(self, slot: Slot) -> list[RefusedMachine]:
        """Remove a disconnected slot; return the machines whose refusal changed."""
        self._slots.pop(slot, None)
        return self._judge()

    def clear(self) -> None:
        """Remove all slots."""
        self._slots.clear()
        self._judge()

    def lacks_bot(self, machine: str, why: str) -> list[RefusedMachine]:
        """Note that a machine cannot start a bot; return the machines whose refusal changed."""
        from arena.executor.cluster.facts import Lack

        self._bot_lacks[machine] = Lack(_LACKS_BOT, why)
        return self._judge()

    def settle(self) -> None:
        """Freeze the median speed at its present value, since the first batch is played."""
        self._is_settled = True

    def name_of(self, machine: str) -> str:
        """Return the display name of a machine."""
        return (self._machines().get(machine, None) and self._machines()[machine].name) or machine[:8]

    def news(self) -> str:
        """Return a sentence when the run starts or waits for a machine; otherwise an empty string."""
        if self._eligible:
            self._missing_since = time.monotonic()
            self._waits_for = ""
            if self._has_summed:
                return ""
            self._has_summed = True
            return self._summary()
        if time.monotonic() - self._missing_since < _PATIENCE_S:
            return ""
        text = self._nearest()
        if text == self._waits_for:
            return ""
        self._waits_for = text
        return text

    def _machines(self) -> dict[str, WorkerFacts]:
        return {slot.machine: facts for slot, facts in self._slots.items()}

    def _judge(self) -> list[RefusedMachine]:
        machines = self._machines()
        if not self._is_settled:
            self._median = median_speed(machines.values(), self._wanted)
        before, self._lacks = self._lacks, {}
        for machine, facts in machines.items():
            lack = find_lack(facts, self._wanted, self._median) or self._bot_lacks.get(machine)
            if lack is not None:
                self._lacks[machine] = lack
        self._eligible = [
            slot
            for slot, facts in self._slots.items()
            if slot.machine not in self._lacks and self._wanted.admits(facts, slot.number)
        ]
        changed = [
            RefusedMachine(each, lack.why) for each, lack in self._lacks.items() if before.get(each) != lack
        ]
        return changed + [
            RefusedMachine(each, "") for each in before if each not in self._lacks and each in machines
        ]

    def _summary(self) -> str:
        machines = {slot.machine: self._slots[slot] for slot in self._eligible}
        num, slots = len(machines), sum(map(self._num_slots, machines.values()))
        what = f"training {self._wanted.trainer}" if self._wanted.trainer else self._wanted.tier
        gpus = " with a GPU" * self._wanted.needs_gpu
        text = f"{num} machine{'s' * (num != 1)}, {slots} slot{'s' * (slots != 1)}{gpus}, {what}"
        speeds = [f"{facts.name} {facts.speed:.2f}" for facts in machines.values() if facts.speed]
        if self._wanted.speed != "ignore" and speeds:
            text += f"; speed {self._wanted.speed}: {', '.join(sorted(speeds))} of the reference"
        return text

    def _num_slots(self, facts: WorkerFacts) -> int:
        return sum(self._wanted.admits(facts, number) for number in range(facts.slots))

    def _nearest(self) -> str:
        if not self._lacks and self._starts_its_own:
            return "the slots of --cluster local:N are still starting, so the run waits"
        if not self._lacks:
            return "no worker machine is connected, so the run waits; start arena worker on one"
        machine, lack = max(self._lacks.items(), key=lambda each: each[1].step)
        return (
            f"no machine can play this, so the run waits; the closest is {self.name_of(machine)}: {lack.why}"
        )

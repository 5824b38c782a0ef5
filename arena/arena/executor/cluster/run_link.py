"""The connection of a run to its cluster: its slots, which of them can work, orders to them."""

from __future__ import annotations

import secrets
import threading
import time
from abc import ABC, abstractmethod
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from arena.errors import ArenaError
from arena.executor.channel import drain
from arena.executor.cluster.coordinator_link import CoordinatorLink
from arena.executor.cluster.facts import Lack, find_lack, median_speed
from arena.executor.cluster.hub_clock import HubClock
from arena.executor.cluster.messages import (
    ContentPiece,
    FromSlot,
    HubTime,
    JoinRun,
    MachineRemark,
    RunOrder,
    SlotJoined,
    SlotLeft,
    Taken,
    Want,
    of_slot,
)
from arena.executor.slots import PoolLostError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.executor.cluster.facts import Wanted, WorkerFacts
    from arena.executor.cluster.key_files import SchedulerPlace
    from arena.executor.cluster.messages import HubTellsCoordinator, SlotSays
    from arena.executor.cluster.private import PrivateCluster
    from arena.executor.cluster.sent_work import SentWork
    from arena.executor.slots import Slot

GONE_S: Final = 600.0
"""Seconds without a scheduler after which the run stops."""


class ClusterRun(ABC):
    """A run's view of its cluster; a subclass sends the work and takes the results."""

    resume_command = "arena resume"
    """The command that continues an interrupted run."""
    replays = "matches in progress are played again"
    """The consequence of losing the scheduler, as text."""

    def __init__(
        self,
        place: SchedulerPlace,
        wanted: Wanted,
        *,
        cluster: PrivateCluster | None = None,
        expected: int = 1,
    ) -> None:
        """Prepare to connect; the constructor of a subclass ends with `_connect`.

        Args:
            place: where the scheduler is.
            wanted: requirements of the run on machines.
            cluster: processes that serve this run only and end with this pool.
            expected: minimum number of slots that will join.
        """
        self._place = place
        self._cluster = cluster
        self._expected = expected
        self._scheduler = "the scheduler " + (
            "of --cluster local:N" if cluster is not None else f"at {place.address}"
        )
        self._run = ""
        self._lock = threading.Lock()
        self._roster = Roster(wanted, starts_its_own=cluster is not None)
        self._work: dict[int, SentWork] = {}
        self._num_sent = 0
        self._order = ""
        self._gone_since: float | None = time.monotonic()
        self._clock = HubClock()
        self._notes: SimpleQueue[str] = SimpleQueue()

    def _connect(self) -> None:
        """Connect in the background; from now on, the hooks of the subclass are called."""
        self._link = CoordinatorLink(self._place, hear=self._hear, up=self._up, down=self._down)

    @property
    def num_workers(self) -> int:
        """Number of slots that can work now, or are expected."""
        return max(self._expected, len(self._roster.eligible))

    def slots(self) -> list[Slot]:
        """Return the slots that can work now.

        Raises:
            ArenaError: the scheduler has been gone for ten minutes, or the processes of this run have ended.
        """
        death = "" if self._cluster is None else self._cluster.revive()
        if death:
            raise ArenaError(f"{death}; {self.resume_command} continues the run")
        gone = self._gone_since
        if gone is not None and time.monotonic() - gone > GONE_S:
            # Nobody but this run can start its own scheduler.
            first = "" if self._cluster is not None else "start it again with arena cluster start, then "
            raise ArenaError(
                f"{self._scheduler} has been gone for {GONE_S / 60:.0f} min; {first}continue with "
                f"{self.resume_command}"
            )
        with self._lock:
            return list(self._roster.eligible)

    def notes(self) -> list[str]:
        """Return the notes on machines since the last call."""
        found = drain(self._notes)
        if self._clock.is_due:
            self._link.send(self._clock.ask())
        with self._lock:
            news = self._roster.news() if self._gone_since is None else ""
        return [*found, news] if news else found

    def stop(self) -> None:
        """Start no further match or shard."""
        self._ask("stop")

    def go(self) -> None:
        """Start work again."""
        self._ask("go")

    def abort(self) -> None:
        """End all running work; slots that cannot do so within a second kill themselves."""
        self._ask("abort")

    def rebuild(self) -> None:  # noqa: B027 - a pool of local processes does something
        """Do nothing: each machine restarts its own slots."""

    def put_aside(self, machine: str, why: str) -> str:
        """Report to `arena cluster status` that a machine is put aside; return its display name."""
        self._link.send(MachineRemark(machine, why, is_aside=True))
        with self._lock:
            return self._roster.name_of(machine)

    def close(self) -> None:
        """Disconnect; the slots serve other runs, or end if the cluster is private."""
        self._link.close()
        if self._cluster is not None:
            self._cluster.close()

    @abstractmethod
    def _said(self, slot: Slot, message: SlotSays, size: int) -> None:
        """Handle a message of a slot, which has `size` bytes."""

    @abstractmethod
    def _piece(self, want: Want) -> ContentPiece:
        """Return the piece that a slot requests."""

    @abstractmethod
    def _forget(self, slot: Slot | None) -> None:
        """Forget which data a slot keeps, because it has left; None stands for all slots."""

    def _ask(self, order: str) -> None:
        self._order = order
        self._link.send(RunOrder(self._run, order))

    def _taken(self, size: int) -> None:
        """Report to the hub that there is room for more results."""
        if size:
            self._link.send(Taken(self._run, size))

    def _up(self) -> None:
        if self._gone_since is not None and self._num_sent:
            self._notes.put(f"{self._scheduler} is back")
        self._gone_since = None
        # Another name for each connection: slots abort for good what was sent over one that was lost.
        self._run = secrets.token_hex(8)
        # Sent first, because the hub ignores orders of a run that it does not know.
        self._link.send(JoinRun(self._run))
        self._link.send(self._clock.ask())
        # A scheduler that was started again knows neither the run nor its order.
        if self._order:
            self._link.send(RunOrder(self._run, self._order))

    def _down(self) -> None:
        """Fail all work, since its results can no longer arrive."""
        self._gone_since = time.monotonic()
        then = (
            "it starts again" if self._cluster is not None else f"the run waits {GONE_S / 60:.0f} min for it"
        )
        self._notes.put(f"{self._scheduler} is gone; {then}, and {self.replays}")
        with self._lock:
            self._roster.clear()
            # Slots end with their scheduler, and their successors have been sent nothing.
            self._forget(None)
            lost = list(self._work.values())
            self._work.clear()
        # Outside the lock: callbacks of a future run here and may call this pool.
        for work in lost:
            work.set_exception(PoolLostError(f"{self._scheduler} is gone"))

    def _hear(self, message: HubTellsCoordinator) -> None:
        match message:
            case FromSlot():
                self._hear_slot(message)
            case SlotJoined():
                with self._lock:
                    changed = self._roster.add(message.slot, message.facts)
                self._remark(changed)
            case SlotLeft():
                self._left(message)
            case HubTime():
                self._clock.hear(message)
            case Want():
                # Reading from the disk must not delay the messages that follow.
                self._link.in_background(lambda: self._piece(message))
            case _:
                pass

    def _left(self, left: SlotLeft) -> None:
        with self._lock:
            # Under one lock with the search for its work: `submit` cannot send the slot work in between.
            changed = self._roster.remove(left.slot)
            self._forget(left.slot)
            gone = [work for work in self._work.values() if work.slot == left.slot]
            for work in gone:
                del self._work[work.number]
        for work in gone:
            # As above, outside the lock.
            if left.is_lost:
                work.lose()
            else:
                work.give_back()
        self._remark(changed)

    def _lacks(self, slot: Slot, why: str) -> None:
        """Note that the machine of a slot cannot do this work."""
        with self._lock:
            changed = self._roster.lacks_bot(slot.machine, why)
        self._remark(changed)

    def _remark(self, changed: Sequence[RefusedMachine]) -> None:
        for machine, why in changed:
            self._link.send(MachineRemark(machine, why, is_aside=False))

    def _hear_slot(self, message: FromSlot) -> None:
        try:
            said = of_slot(message.data)
        except msgspec.MsgspecError:
            return
        self._said(message.slot, said, len(message.data))


_PATIENCE_S: Final = 3.0
"""Seconds without a usable slot after which the user is told what the run waits for."""
_LACKS_BOT: Final = 9
"""`Lack.step` of a machine that meets all requirements except that it cannot start a bot."""


class RefusedMachine(NamedTuple):
    """A machine that cannot take part, or can take part again."""

    machine: str
    why: str
    """The reason; empty if it can take part again."""


class Roster:
    """Keeps the connected slots; not thread-safe."""

    def __init__(self, wanted: Wanted, *, starts_its_own: bool = False) -> None:
        """Start without slots.

        Args:
            wanted: requirements of the run on machines.
            starts_its_own: whether the run starts the slots itself, so that the user need not start any.
        """
        self._wanted = wanted
        self._starts_its_own = starts_its_own
        self._slots: dict[Slot, WorkerFacts] = {}
        self.eligible: list[Slot] = []
        """The slots that can play."""
        self._lacks: dict[str, Lack] = {}
        self._bot_lacks: dict[str, Lack] = {}
        self._median = 0.0
        self._is_settled = False
        self._has_summed = False
        self._told: set[RefusedMachine] = set()
        self._missing_since = time.monotonic()
        self._waits_for = ""

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
        self._bot_lacks[machine] = Lack(_LACKS_BOT, why)
        return self._judge()

    def settle(self) -> None:
        """Freeze the median speed at its present value; called when work is sent."""
        self._is_settled = True

    def name_of(self, machine: str) -> str:
        """Return the display name of a machine."""
        return (self._machines().get(machine, None) and self._machines()[machine].name) or machine[:8]

    def news(self) -> str:
        """Return a sentence when the run starts, excludes a machine or waits for one; otherwise ""."""
        if self.eligible:
            self._missing_since = time.monotonic()
            self._waits_for = ""
            if self._has_summed:
                return self._refusals()
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
        # Later machines must not change which ones may play: the matches of one table would differ in speed.
        if not self._is_settled:
            self._median = median_speed(machines.values(), self._wanted)
        before, self._lacks = self._lacks, {}
        for machine, facts in machines.items():
            lack = find_lack(facts, self._wanted, self._median) or self._bot_lacks.get(machine)
            if lack is not None:
                self._lacks[machine] = lack
        self.eligible = [
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
        machines = {slot.machine: self._slots[slot] for slot in self.eligible}
        num, slots = len(machines), sum(map(self._num_slots, machines.values()))
        what = f"training {self._wanted.trainer}" if self._wanted.trainer else self._wanted.tier
        gpus = " with a GPU" * self._wanted.needs_gpu
        text = f"{num} machine{'s' * (num != 1)}, {slots} slot{'s' * (slots != 1)}{gpus}, {what}"
        speeds = [f"{facts.name} {facts.speed:.2f}" for facts in machines.values() if facts.speed]
        if self._wanted.speed != "ignore" and speeds:
            text += f"; speed {self._wanted.speed}: {', '.join(sorted(speeds))} of the reference"
        return text

    def _refusals(self) -> str:
        """Return which machines take no part, of those that were not named before."""
        refused = {RefusedMachine(machine, lack.why) for machine, lack in self._lacks.items()} - self._told
        self._told |= refused
        return "; ".join(sorted(f"{self.name_of(each)} takes no part: {why}" for each, why in refused))

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

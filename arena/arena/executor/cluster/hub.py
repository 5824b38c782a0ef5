"""The hub in the scheduler's process: forwards messages and keeps the state that new members need.

It makes no decisions: each coordinator decides which slot plays what, and how to handle a loss.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from typing import TYPE_CHECKING, Any, Final

from distributed.diagnostics.plugin import SchedulerPlugin

from arena.executor.cluster import messages
from arena.executor.cluster.messages import (
    MAX_MESSAGE,
    OP,
    Ack,
    AskStatus,
    AskTime,
    Begun,
    Bye,
    ContentPiece,
    FromSlot,
    Hello,
    HubTime,
    JoinRun,
    MachineRemark,
    MachineState,
    Over,
    ResultPart,
    RunOrder,
    RunShard,
    ShardOver,
    ShardPart,
    SlotJoined,
    SlotLeft,
    Spoilt,
    Status,
    Streamed,
    Taken,
    ToSlot,
    Want,
    Welcome,
    encode,
)

if TYPE_CHECKING:
    from distributed import Scheduler

    from arena.executor.cluster.facts import WorkerFacts
    from arena.executor.cluster.messages import ClusterMessage
    from arena.executor.cluster.pieces import PieceCache
    from arena.executor.slots import Slot

MAX_PENDING: Final = 64 << 20
"""Maximum bytes of results of one run that its coordinator has not yet taken; beyond it, slots wait."""
_MAX_STREAMED: Final = 2000
"""Maximum messages queued for a coordinator; beyond it, the stream of running matches is dropped."""
_MINUTE_S: Final = 60.0


class _Guest:
    """A connected slot."""

    def __init__(self, slot: Slot, facts: WorkerFacts) -> None:
        self.slot = slot
        self.facts = facts
        self.bye: Bye | None = None
        """Its farewell message; None if it sent none."""
        self.playing = 0
        """Number of batches that were sent to it and have not ended."""


class _Machine:
    """What is known of a machine, even while none of its slots is connected."""

    def __init__(self, facts: WorkerFacts) -> None:
        self.facts = facts
        self.lost = 0
        self.played: deque[tuple[float, int]] = deque()
        self.remarks: dict[str, MachineRemark] = {}
        """Remarks by client."""

    def note(self, num: int) -> None:
        """Count matches that were played just now."""
        self.played.append((time.monotonic(), num))

    def per_min(self) -> float:
        """Return the number of matches of the last minute."""
        while self.played and self.played[0][0] < time.monotonic() - _MINUTE_S:
            self.played.popleft()
        return float(sum(num for _, num in self.played))


class _Run:
    """A run whose coordinator is connected."""

    def __init__(self, client: str) -> None:
        self.client = client
        self.order = ""
        """Its order to all slots; empty if there is none."""
        self.pending = 0
        """Bytes of results that its coordinator has not yet taken."""
        self.waiting: deque[tuple[str, Ack]] = deque()
        """Acknowledgements withheld from slots, with the slots' addresses; this is the backpressure."""


class _AskedPiece:
    """A piece that a coordinator was asked for."""

    def __init__(self, client: str) -> None:
        self.client = client
        self.waiting: dict[str, Want] = {}
        """The request of each waiting slot, by address; slots of several runs may want the same piece."""


class ClusterHub(SchedulerPlugin):
    """Forwards messages between coordinators and slots."""

    name = "arena"

    def __init__(self, cache: PieceCache) -> None:
        """Start without members; pieces of contents are kept in `cache`."""
        self._cache = cache
        # No lock: Dask calls hooks and handlers in the event loop of the scheduler, one after the other.
        self._guests: dict[str, _Guest] = {}
        self._addresses: dict[Slot, str] = {}
        self._machines: dict[str, _Machine] = {}
        self._runs: dict[str, _Run] = {}
        self._wanted: dict[tuple[str, int], _AskedPiece] = {}
        """Pieces that were requested from coordinators and have not arrived, by content and number."""

    async def start(self, scheduler: Scheduler) -> None:
        """Register the message handler with a starting scheduler."""
        # Dask's methods are untyped.
        self._scheduler: Any = scheduler
        self._scheduler.stream_handlers[OP] = self._hear

    def remove_worker(self, scheduler: Scheduler, worker: str, **_: Any) -> None:  # noqa: ANN401 - Dask's
        """Report a disconnected slot to all coordinators."""
        del scheduler
        guest = self._guests.pop(worker, None)
        for question in self._wanted.values():
            question.waiting.pop(worker, None)
        if guest is None:
            return
        del self._addresses[guest.slot]
        machine = self._machines[guest.slot.machine]
        # Two workers of one machine measure its speed apart; the table shows that of a slot which is there.
        others = (each for each in self._guests.values() if each.slot.machine == guest.slot.machine)
        machine.facts = next(others, guest).facts
        # A slot that sent a farewell ended on purpose.
        machine.lost += guest.bye is None
        is_lost = guest.bye is None or guest.bye.is_playing
        for client in self._clients():
            self._tell_client(client, SlotLeft(guest.slot, is_lost))

    def remove_client(self, scheduler: Scheduler, client: str) -> None:
        """End the runs of a disconnected coordinator."""
        del scheduler
        for name in [name for name, run in self._runs.items() if run.client == client]:
            run = self._runs.pop(name)
            # Slots still wait for these acknowledgements, although no coordinator takes their results any
            # more.
            for address, ack in run.waiting:
                self._tell_slot(address, ack)
            for address in self._guests:
                # The work has no recipient; the coordinator, or its successor, sends it again.
                self._tell_slot(address, RunOrder(name, "abort"))
        for machine in self._machines.values():
            machine.remarks.pop(client, None)
        lost = [key for key, question in self._wanted.items() if question.client == client]
        # No coordinator will answer these requests. Slots of other runs ask their own coordinators.
        for question in [self._wanted.pop(key) for key in lost]:
            for address, want in question.waiting.items():
                self._want(address, want)

    def _hear(self, data: bytes, worker: str = "", client: str = "") -> None:
        """Handle a message; an unreadable one raises, which closes its connection."""
        if len(data) > MAX_MESSAGE:
            raise ValueError(f"a message of {len(data)} bytes")
        if worker:
            self._hear_slot(worker, data)
        else:
            self._hear_coordinator(client, data)

    def _hear_slot(self, address: str, data: bytes) -> None:
        message = messages.of_slot(data)
        if isinstance(message, Hello):
            self._welcome(address, message)
            return
        guest = self._guests[address]
        match message:
            case Begun() | Over() | ResultPart() | ShardPart() | ShardOver():
                self._pass_up(guest, address, message, data)
            case Streamed():
                run = self._runs.get(message.run)
                # Only streams are dropped: results complete what viewers have missed.
                if run is not None and self._num_waiting(run.client) < _MAX_STREAMED:
                    self._tell_client(run.client, FromSlot(guest.slot, data))
            case Want():
                self._want(address, message)
            case Spoilt():
                self._cache.forget(message.content)
            case Bye():
                guest.bye = message
            case AskTime():
                self._tell_slot(address, HubTime(message.at, time.time()))

    def _pass_up(
        self,
        guest: _Guest,
        address: str,
        message: Begun | Over | ResultPart | ShardPart | ShardOver,
        data: bytes,
    ) -> None:
        run = self._runs.get(message.run)
        # Counted even if the run's coordinator is gone: the slot is idle now.
        guest.playing -= isinstance(message, Over | ShardOver)
        if run is not None:
            self._tell_client(run.client, FromSlot(guest.slot, data))
        if not isinstance(message, ResultPart | ShardPart):
            return
        if isinstance(message, ResultPart):
            self._machines[guest.slot.machine].note(message.num_records)
        # Acknowledgements only limit the bytes in transit; no part is ever sent again. A part whose
        # coordinator is gone is acknowledged at once, so that the slot can go on to other runs.
        ack = Ack(message.run, message.batch, message.number)
        if run is not None:
            run.pending += len(data)
            if run.pending > MAX_PENDING:
                run.waiting.append((address, ack))
                # Until this acknowledgement is sent, the slot has unacknowledged bytes and finally stops
                # playing.
                return
        self._tell_slot(address, ack)

    def _welcome(self, address: str, hello: Hello) -> None:
        slot, facts = hello.slot, hello.facts
        self._guests[address] = _Guest(slot, facts)
        self._addresses[slot] = address
        # A machine keeps its counts while all its slots are gone; its facts may have changed since.
        self._machines.setdefault(slot.machine, _Machine(facts)).facts = facts
        self._tell_slot(address, Welcome())
        for name, run in self._runs.items():
            # A slot that joins during a stop must not start what was sent before it.
            if run.order:
                self._tell_slot(address, RunOrder(name, run.order))
        for client in self._clients():
            self._tell_client(client, SlotJoined(slot, facts))

    def _hear_coordinator(self, client: str, data: bytes) -> None:
        message = messages.of_coordinator(data)
        match message:
            case JoinRun():
                # If the run lost its connection before, its order and its unacknowledged bytes no longer
                # count.
                self._runs[message.run] = _Run(client)
                for guest in self._guests.values():
                    self._tell_client(client, SlotJoined(guest.slot, guest.facts))
            case ToSlot():
                self._pass_down(client, message)
            case RunOrder():
                self._order(client, message)
            case Taken():
                self._taken(message)
            case ContentPiece():
                self._keep_piece(message)
            case MachineRemark():
                self._remark(client, message)
            case AskStatus():
                self._tell_client(client, Status(self._states()))
            case AskTime():
                self._tell_client(client, HubTime(message.at, time.time()))

    def _order(self, client: str, order: RunOrder) -> None:
        run = self._runs.get(order.run)
        # An order that is still on its way over a connection that this run has lost is out of date.
        if run is not None and run.client == client:
            run.order = order.order
            for address in self._guests:
                self._tell_slot(address, order)

    def _pass_down(self, client: str, message: ToSlot) -> None:
        address = self._addresses.get(message.slot)
        if address is None:
            # The slot left while the message was in transit, perhaps before the coordinator joined and could
            # hear of it.
            self._tell_client(client, SlotLeft(message.slot, is_lost=True))
            return
        work = isinstance(messages.for_slot(message.data), messages.PlayBatch | RunShard)
        self._guests[address].playing += work
        self._send(address, message.data)

    def _taken(self, message: Taken) -> None:
        run = self._runs.get(message.run)
        if run is None:
            return
        # It can fall below 0: a run that has joined again also reports results that were counted before.
        run.pending -= message.size
        while run.waiting and run.pending <= MAX_PENDING:
            self._tell_slot(*run.waiting.popleft())

    def _want(self, address: str, want: Want) -> None:
        data = self._cache.read(want.content, want.piece)
        if data is not None:
            self._tell_slot(address, ContentPiece(want.content, want.piece, data))
            return
        run = self._runs.get(want.run)
        if run is None:
            self._tell_slot(address, ContentPiece(want.content, want.piece, b"", "its coordinator is gone"))
            return
        key = (want.content, want.piece)
        # At the start of a run many slots want the same piece; its coordinator sends it once.
        if key not in self._wanted:
            self._wanted[key] = _AskedPiece(run.client)
            self._tell_client(run.client, want)
        self._wanted[key].waiting[address] = want

    def _keep_piece(self, piece: ContentPiece) -> None:
        if not piece.why:
            self._cache.write(piece.content, piece.piece, piece.data)
        question = self._wanted.pop((piece.content, piece.piece), None)
        for address in question.waiting if question else ():
            self._tell_slot(address, piece)

    def _remark(self, client: str, remark: MachineRemark) -> None:
        machine = self._machines.get(remark.machine)
        if machine is None:
            return
        if remark.text:
            machine.remarks[client] = remark
        else:
            machine.remarks.pop(client, None)

    def _states(self) -> tuple[MachineState, ...]:
        found: list[MachineState] = []
        slots = Counter(guest.slot.machine for guest in self._guests.values())
        playing = {guest.slot.machine for guest in self._guests.values() if guest.playing > 0}
        for key, machine in self._machines.items():
            remarks = list(machine.remarks.values())
            # Later assignments take precedence: a machine that one run refuses may play for another, and one
            # without slots is gone, whatever remarks runs made about it.
            state = "playing" if key in playing else "idle"
            if remarks:
                state = "aside" if any(remark.is_aside for remark in remarks) else "refused"
            if not slots[key]:
                state = "gone"
            found.append(
                MachineState(
                    machine=key,
                    name=machine.facts.name,
                    state=state,
                    slots=slots[key],
                    tier=max(machine.facts.tiers, default="-"),
                    speed=machine.facts.speed,
                    gpus=machine.facts.gpus,
                    matches_per_min=machine.per_min(),
                    lost=machine.lost,
                    note="; ".join(dict.fromkeys(remark.text for remark in remarks)),
                )
            )
        return tuple(sorted(found, key=lambda each: each.name))

    def _clients(self) -> set[str]:
        return {run.client for run in self._runs.values()}

    def _num_waiting(self, client: str) -> int:
        found = self._scheduler.client_comms.get(client)
        return 0 if found is None else len(found.buffer)

    def _tell_slot(self, address: str, message: ClusterMessage) -> None:
        self._send(address, encode(message))

    def _send(self, address: str, data: bytes) -> None:
        if address in self._scheduler.stream_comms:
            self._scheduler.worker_send(address, {"op": OP, "data": data})

    def _tell_client(self, client: str, message: ClusterMessage) -> None:
        self._scheduler.client_send(client, {"op": OP, "data": encode(message)})

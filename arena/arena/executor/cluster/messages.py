"""The messages between coordinator, hub and slots: tagged msgspec structs, never pickles.

A coordinator and a slot never meet. Each has one connection to the hub, which it opened itself, and the hub
passes messages on: `ToSlot` wraps what a coordinator sends to a slot, `FromSlot` what a slot sends back.
"""

from __future__ import annotations

import msgspec

from arena.executor.cluster.facts import WorkerFacts
from arena.executor.slots import Slot
from arena_db.records import MatchRecord

OP = "arena"
"""The name of our messages within those of Dask, in all four directions."""
MAX_MESSAGE = 64 << 20
"""Bytes of one message; a longer one ends its connection."""
PIECE = 4 << 20
"""Bytes of a piece of a content."""


class ClusterMessage(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """What all messages have in common."""


# A slot says:


class Hello(ClusterMessage, frozen=True):
    """A slot has joined."""

    slot: Slot
    facts: WorkerFacts


class Begun(ClusterMessage, frozen=True):
    """Matches of a batch began, in this order; all but the last are over."""

    run: str
    batch: int
    numbers: tuple[int, ...]


class ResultPart(ClusterMessage, frozen=True):
    """Results of a batch, in the order of its jobs; the hub answers with `Ack`."""

    run: str
    batch: int
    number: int
    """Which part of the batch it is, from 0."""
    num_records: int
    records: bytes
    """A list of `MatchRecord`, encoded."""


class Over(ClusterMessage, frozen=True):
    """A batch has ended; its last results came before."""

    run: str
    batch: int
    lack: str = ""
    """Why this machine cannot play it; empty if it could."""


class Streamed(ClusterMessage, frozen=True):
    """News of a running match, as a `Teller` writes them."""

    run: str
    data: bytes


class Want(ClusterMessage, frozen=True):
    """A slot needs a piece of a content; sent on by the hub if it does not have it."""

    run: str
    """Whose coordinator has it."""
    content: str
    """Hash of the content."""
    piece: int
    """-1 for its inventory, else which piece of `PIECE` bytes of its files, one after the other."""


class Spoilt(ClusterMessage, frozen=True):
    """Pieces of a content were damaged on the way: the hub forgets those it has."""

    content: str


class Bye(ClusterMessage, frozen=True):
    """A slot ends because it was asked to."""

    is_playing: bool
    """Whether it ends in a match, since its run was aborted."""


# The hub says to a slot:


class Welcome(ClusterMessage, frozen=True):
    """The answer to `Hello`."""

    now: float
    """The clock of the hub, seconds since 1970."""


class Ack(ClusterMessage, frozen=True):
    """The hub has a part."""

    run: str
    batch: int
    number: int


class JobRow(msgspec.Struct, frozen=True, array_like=True):
    """What of a job differs from match to match."""

    template: int
    number: int
    attempt: int
    match: str
    opening: tuple[int, ...]
    seed_first: int
    seed_second: int
    stalls_count: bool


class PlayBatch(ClusterMessage, frozen=True):
    """A batch. What its jobs have in common goes to a slot once."""

    run: str
    batch: int
    templates: dict[int, bytes]
    """Jobs that `rows` refer to, encoded, as far as this slot does not have them yet."""
    rows: tuple[JobRow, ...]


class Withdraw(ClusterMessage, frozen=True):
    """A batch is not wanted any more, unless it has begun."""

    run: str
    batch: int


class RunOrder(ClusterMessage, frozen=True):
    """What a run asks of all slots: `stop` lets no match begin, `go` does, `abort` ends those that run."""

    run: str
    order: str


class ContentPiece(ClusterMessage, frozen=True):
    """A piece of a content, or its inventory in JSON; `why` it cannot be had, if that is so."""

    content: str
    piece: int
    data: bytes
    why: str = ""


# A coordinator says:


class JoinRun(ClusterMessage, frozen=True):
    """A coordinator begins a run; the hub tells it of all slots."""

    run: str


class ToSlot(ClusterMessage, frozen=True):
    """A message for one slot."""

    slot: Slot
    data: bytes


class Taken(ClusterMessage, frozen=True):
    """A coordinator has taken so many bytes of results."""

    run: str
    size: int


class MachineRemark(ClusterMessage, frozen=True):
    """What a coordinator says of a machine, for `arena cluster status`; empty takes it back."""

    machine: str
    text: str
    is_aside: bool


class AskStatus(ClusterMessage, frozen=True):
    """Somebody asks for the state of the cluster."""


# The hub says to a coordinator:


class SlotJoined(ClusterMessage, frozen=True):
    """A slot is there."""

    slot: Slot
    facts: WorkerFacts
    now: float
    """The clock of the hub."""


class SlotLeft(ClusterMessage, frozen=True):
    """A slot is gone."""

    slot: Slot
    is_lost: bool
    """Whether it ended in a match, or may have; else it ended between two."""


class FromSlot(ClusterMessage, frozen=True):
    """A message of one slot."""

    slot: Slot
    data: bytes


class MachineState(msgspec.Struct, frozen=True, kw_only=True):
    """A machine as `arena cluster status` shows it."""

    machine: str
    """Its uuid."""
    name: str
    state: str
    """playing, idle, aside, refused or gone."""
    slots: int
    """Slots that are connected."""
    tier: str
    """The strongest tier that is granted there."""
    speed: float
    """As a part of the reference's."""
    matches_per_min: float
    lost: int
    """Slots that were lost since the scheduler started."""
    note: str


class Status(ClusterMessage, frozen=True):
    """The answer to `AskStatus`."""

    machines: tuple[MachineState, ...]


SlotSays = Hello | Begun | ResultPart | Over | Streamed | Want | Spoilt | Bye
HubTellsSlot = Welcome | Ack | PlayBatch | Withdraw | RunOrder | ContentPiece
CoordinatorSays = JoinRun | ToSlot | RunOrder | Taken | MachineRemark | AskStatus | ContentPiece
HubTellsCoordinator = SlotJoined | SlotLeft | FromSlot | Want | Status

_encoder = msgspec.msgpack.Encoder()
_of_slot = msgspec.msgpack.Decoder[SlotSays](SlotSays)
_for_slot = msgspec.msgpack.Decoder[HubTellsSlot](HubTellsSlot)
_of_coordinator = msgspec.msgpack.Decoder[CoordinatorSays](CoordinatorSays)
_for_coordinator = msgspec.msgpack.Decoder[HubTellsCoordinator](HubTellsCoordinator)
_records = msgspec.msgpack.Decoder(list[MatchRecord])


def of_slot(data: bytes) -> SlotSays:
    """Return what a slot says.

    Raises:
        msgspec.MsgspecError: it is no such message.
    """
    return _of_slot.decode(data)


def for_slot(data: bytes) -> HubTellsSlot:
    """Return what the hub tells a slot.

    Raises:
        msgspec.MsgspecError: it is no such message.
    """
    return _for_slot.decode(data)


def of_coordinator(data: bytes) -> CoordinatorSays:
    """Return what a coordinator says.

    Raises:
        msgspec.MsgspecError: it is no such message.
    """
    return _of_coordinator.decode(data)


def for_coordinator(data: bytes) -> HubTellsCoordinator:
    """Return what the hub tells a coordinator.

    Raises:
        msgspec.MsgspecError: it is no such message.
    """
    return _for_coordinator.decode(data)


def decode_records(data: bytes) -> list[MatchRecord]:
    """Return the results of a part.

    Raises:
        msgspec.MsgspecError: they are no results.
    """
    return _records.decode(data)


def encode_records(records: list[MatchRecord]) -> bytes:
    """Return results as a part has them."""
    return _encoder.encode(records)


def encode(message: ClusterMessage) -> bytes:
    """Return a message as it is sent."""
    return _encoder.encode(message)

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


class Message(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """What all messages have in common."""


# A slot says:


class Hello(Message, frozen=True):
    """A slot has joined."""

    slot: Slot
    facts: WorkerFacts


class Begun(Message, frozen=True):
    """Matches of a batch began, in this order; all but the last are over."""

    run: str
    batch: int
    numbers: tuple[int, ...]


class Part(Message, frozen=True):
    """Results of a batch, in the order of its jobs; the hub answers with `Ack`."""

    run: str
    batch: int
    number: int
    """Which part of the batch it is, from 0."""
    num_records: int
    records: bytes
    """A list of `MatchRecord`, encoded."""


class Over(Message, frozen=True):
    """A batch has ended; its last results came before."""

    run: str
    batch: int
    lack: str = ""
    """Why this machine cannot play it; empty if it could."""


class Streamed(Message, frozen=True):
    """News of a running match, as a `Teller` writes them."""

    run: str
    data: bytes


class Want(Message, frozen=True):
    """A slot needs a piece of a content; sent on by the hub if it does not have it."""

    run: str
    """Whose coordinator has it."""
    content: str
    """Hash of the content."""
    piece: int
    """-1 for its inventory, else which piece of `PIECE` bytes of its files, one after the other."""


class Spoilt(Message, frozen=True):
    """Pieces of a content were damaged on the way: the hub forgets those it has."""

    content: str


class Bye(Message, frozen=True):
    """A slot ends because it was asked to."""

    is_playing: bool
    """Whether it ends in a match, since its run was aborted."""


# The hub says to a slot:


class Welcome(Message, frozen=True):
    """The answer to `Hello`."""

    now: float
    """The clock of the hub, seconds since 1970."""


class Ack(Message, frozen=True):
    """The hub has a part."""

    run: str
    batch: int
    number: int


class Row(msgspec.Struct, frozen=True, array_like=True):
    """What of a job differs from match to match."""

    template: int
    number: int
    attempt: int
    match: str
    opening: tuple[int, ...]
    seed_first: int
    seed_second: int
    stalls_count: bool


class Play(Message, frozen=True):
    """A batch. What its jobs have in common goes to a slot once."""

    run: str
    batch: int
    templates: dict[int, bytes]
    """Jobs that `rows` refer to, encoded, as far as this slot does not have them yet."""
    rows: tuple[Row, ...]


class Withdraw(Message, frozen=True):
    """A batch is not wanted any more, unless it has begun."""

    run: str
    batch: int


class Order(Message, frozen=True):
    """What a run asks of all slots: `stop` lets no match begin, `go` does, `abort` ends those that run."""

    run: str
    order: str


class Piece(Message, frozen=True):
    """A piece of a content, or its inventory in JSON; `why` it cannot be had, if that is so."""

    content: str
    piece: int
    data: bytes
    why: str = ""


# A coordinator says:


class Join(Message, frozen=True):
    """A coordinator begins a run; the hub tells it of all slots."""

    run: str


class ToSlot(Message, frozen=True):
    """A message for one slot."""

    slot: Slot
    data: bytes


class Taken(Message, frozen=True):
    """A coordinator has taken so many bytes of results."""

    run: str
    size: int


class Remark(Message, frozen=True):
    """What a coordinator says of a machine, for `arena cluster status`; empty takes it back."""

    machine: str
    text: str
    is_aside: bool


class AskStatus(Message, frozen=True):
    """Somebody asks for the state of the cluster."""


# The hub says to a coordinator:


class Joined(Message, frozen=True):
    """A slot is there."""

    slot: Slot
    facts: WorkerFacts
    now: float
    """The clock of the hub."""


class Left(Message, frozen=True):
    """A slot is gone."""

    slot: Slot
    is_lost: bool
    """Whether it ended in a match, or may have; else it ended between two."""


class FromSlot(Message, frozen=True):
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


class Status(Message, frozen=True):
    """The answer to `AskStatus`."""

    machines: tuple[MachineState, ...]


SlotSays = Hello | Begun | Part | Over | Streamed | Want | Spoilt | Bye
HubTellsSlot = Welcome | Ack | Play | Withdraw | Order | Piece
CoordinatorSays = Join | ToSlot | Order | Taken | Remark | AskStatus | Piece
HubTellsCoordinator = Joined | Left | FromSlot | Want | Status

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


def encode(message: Message) -> bytes:
    """Return a message as it is sent."""
    return _encoder.encode(message)

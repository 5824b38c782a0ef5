"""The messages between coordinator, hub and slots: tagged msgspec structs, never pickles.

Coordinator and slot have no direct connection. Each opens one to the hub, which forwards messages: `ToSlot`
wraps a message from a coordinator to a slot, `FromSlot` one from a slot to a coordinator.
"""

from __future__ import annotations

import dataclasses

import msgspec

from arena.executor.cluster.facts import WorkerFacts
from arena.executor.logs import LogPart
from arena.executor.shards import ShardTask
from arena.executor.slots import Slot
from arena_db.records import LiveEvent, MatchRecord

OP = "arena"
"""Dask's name for the arena's messages, the same in all four directions."""
MAX_MESSAGE = 64 << 20
"""Maximum bytes of a message, more than any shard needs; a longer one closes its connection."""
_CLOCK_S = 0.05
"""Seconds; smaller differences between clocks are not corrected, since a message may take as long."""
PIECE = 4 << 20
"""Bytes of a piece of a content."""


class ClusterMessage(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """Base class of all messages."""


# Sent by a slot:


class Hello(ClusterMessage, frozen=True):
    """A slot joins."""

    slot: Slot
    facts: WorkerFacts


class Begun(ClusterMessage, frozen=True):
    """Matches of a batch started, in this order; all but the last are over. A shard is its match 0."""

    run: str
    batch: int
    numbers: tuple[int, ...]


class ResultPart(ClusterMessage, frozen=True):
    """Results of a batch, in the order of its jobs; the hub answers with `Ack`."""

    run: str
    batch: int
    number: int
    """Index of the part within its batch, from 0."""
    num_records: int
    records: bytes
    """An encoded list of `MatchRecord`."""
    logs: tuple[LogPart, ...] = ()
    """Logs of the matches in `records`, for the machine of the coordinator."""


class Over(ClusterMessage, frozen=True):
    """A batch has ended; its last results were sent before."""

    run: str
    batch: int
    lack: str = ""
    """Why this machine cannot play the batch; empty if it could."""


class ShardPart(ClusterMessage, frozen=True):
    """Bytes of the result of a shard, in order; the hub answers with `Ack`."""

    run: str
    batch: int
    number: int
    """Index of the part, from 0."""
    data: bytes


class ShardOver(ClusterMessage, frozen=True):
    """A shard has ended; its result was sent before. All texts are empty if the slot did not compute it."""

    run: str
    batch: int
    sha256: str = ""
    """Hash of the result in hex; empty if there is none."""
    lack: str = ""
    """Why this machine cannot compute it."""
    failure: str = ""
    """The exception that its function raised."""


class Streamed(ClusterMessage, frozen=True):
    """Events of a running match, encoded by a `MatchStreamer`."""

    run: str
    data: bytes
    ahead: float
    """Seconds by which the clock of the hub is ahead of the one of their times."""


class Want(ClusterMessage, frozen=True):
    """A slot needs a piece of a content or a blob; the hub forwards the request if it does not have it."""

    run: str
    """The run whose coordinator has the content."""
    content: str
    """Hash of the content or the blob."""
    piece: int
    """-1 for the inventory, else the index of a piece of `PIECE` bytes of the concatenated files."""


class Spoilt(ClusterMessage, frozen=True):
    """Pieces of a content were damaged in transit; the hub must drop its copies."""

    content: str


class Bye(ClusterMessage, frozen=True):
    """A slot ends because it was asked to."""

    is_playing: bool
    """Whether it ends during a match, because its run was aborted."""


# Sent by slots and coordinators, and the answer of the hub:


class AskTime(ClusterMessage, frozen=True):
    """A request for the time of the hub."""

    at: float
    """The clock of who asks, in seconds since 1970."""


class HubTime(ClusterMessage, frozen=True):
    """The answer to `AskTime`."""

    asked_at: float
    """The time in the request."""
    now: float
    """The clock of the hub, in seconds since 1970."""


# Sent by the hub to a slot:


class Welcome(ClusterMessage, frozen=True):
    """The answer to `Hello`."""


class Ack(ClusterMessage, frozen=True):
    """The hub has received a part."""

    run: str
    batch: int
    number: int


class JobRow(msgspec.Struct, frozen=True, array_like=True):
    """The fields of a job that differ from match to match."""

    template: int
    number: int
    attempt: int
    match: str
    opening: tuple[int, ...]
    seed_first: int
    seed_second: int
    stalls_count: bool


class PlayBatch(ClusterMessage, frozen=True):
    """A batch to play. Fields that its jobs share are sent to a slot only once."""

    run: str
    batch: int
    templates: dict[int, bytes]
    """Encoded jobs that `rows` refer to, by number; only those that the slot does not have yet."""
    rows: tuple[JobRow, ...]
    is_suspect: bool = False
    """Whether one of its matches may have killed a slot; then each start is reported before the match is
    played."""


class RunShard(ClusterMessage, frozen=True):
    """A shard to compute; a slot queues it like a batch."""

    run: str
    batch: int
    task: ShardTask


class Withdraw(ClusterMessage, frozen=True):
    """A batch is withdrawn, unless it has started."""

    run: str
    batch: int


class RunOrder(ClusterMessage, frozen=True):
    """An order to all slots of a run: `stop` starts no match, `go` resumes, `abort` ends running ones."""

    run: str
    order: str


class ContentPiece(ClusterMessage, frozen=True):
    """A piece of a content, or its inventory as JSON; `why` is set if it is not available."""

    content: str
    piece: int
    data: bytes
    why: str = ""


# Sent by a coordinator:


class JoinRun(ClusterMessage, frozen=True):
    """A coordinator starts a run; the hub answers with all slots."""

    run: str


class ToSlot(ClusterMessage, frozen=True):
    """A message for one slot, forwarded by the hub."""

    slot: Slot
    data: bytes


class Taken(ClusterMessage, frozen=True):
    """A coordinator has taken this many bytes of results."""

    run: str
    size: int


class MachineRemark(ClusterMessage, frozen=True):
    """A coordinator's remark about a machine, shown by `arena cluster status`; an empty text removes it."""

    machine: str
    text: str
    is_aside: bool


class AskStatus(ClusterMessage, frozen=True):
    """A request for the state of the cluster."""


# Sent by the hub to a coordinator:


class SlotJoined(ClusterMessage, frozen=True):
    """A slot is connected."""

    slot: Slot
    facts: WorkerFacts


class SlotLeft(ClusterMessage, frozen=True):
    """A slot is disconnected."""

    slot: Slot
    is_lost: bool
    """Whether it ended, or may have ended, during a match; if not, it ended between two matches."""


class FromSlot(ClusterMessage, frozen=True):
    """A message of one slot, forwarded by the hub."""

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
    """Number of connected slots."""
    tier: str
    """Strongest isolation tier that is granted there."""
    speed: float
    """Multiple of the reference speed."""
    gpus: tuple[str, ...] = ()
    """Names of its GPUs that have a slot."""
    matches_per_min: float
    lost: int
    """Number of slots lost since the scheduler started."""
    note: str


class Status(ClusterMessage, frozen=True):
    """The answer to `AskStatus`."""

    machines: tuple[MachineState, ...]


SlotSays = (
    Hello | Begun | ResultPart | Over | ShardPart | ShardOver | Streamed | Want | Spoilt | Bye | AskTime
)
HubTellsSlot = Welcome | HubTime | Ack | PlayBatch | RunShard | Withdraw | RunOrder | ContentPiece
CoordinatorSays = JoinRun | ToSlot | RunOrder | Taken | MachineRemark | AskStatus | ContentPiece | AskTime
HubTellsCoordinator = SlotJoined | SlotLeft | FromSlot | Want | Status | HubTime

_encoder = msgspec.msgpack.Encoder()
_of_slot = msgspec.msgpack.Decoder[SlotSays](SlotSays)
_for_slot = msgspec.msgpack.Decoder[HubTellsSlot](HubTellsSlot)
_of_coordinator = msgspec.msgpack.Decoder[CoordinatorSays](CoordinatorSays)
_for_coordinator = msgspec.msgpack.Decoder[HubTellsCoordinator](HubTellsCoordinator)
_records = msgspec.msgpack.Decoder(list[MatchRecord])


def of_slot(data: bytes) -> SlotSays:
    """Decode a message of a slot.

    Raises:
        msgspec.MsgspecError: it is not such a message.
    """
    return _of_slot.decode(data)


def for_slot(data: bytes) -> HubTellsSlot:
    """Decode a message of the hub to a slot.

    Raises:
        msgspec.MsgspecError: it is not such a message.
    """
    return _for_slot.decode(data)


def of_coordinator(data: bytes) -> CoordinatorSays:
    """Decode a message of a coordinator.

    Raises:
        msgspec.MsgspecError: it is not such a message.
    """
    return _of_coordinator.decode(data)


def for_coordinator(data: bytes) -> HubTellsCoordinator:
    """Decode a message of the hub to a coordinator.

    Raises:
        msgspec.MsgspecError: it is not such a message.
    """
    return _for_coordinator.decode(data)


def decode_records(data: bytes) -> list[MatchRecord]:
    """Decode the results of a part.

    Raises:
        msgspec.MsgspecError: they are not results.
    """
    return _records.decode(data)


def encode_records(records: list[MatchRecord]) -> bytes:
    """Encode the results of a part."""
    return _encoder.encode(records)


def shifted(records: list[MatchRecord], ahead: float) -> list[MatchRecord]:
    """Return results with their times converted to another clock.

    Args:
        records: results with times by one clock.
        ahead: seconds by which the other clock is ahead of it.
    """
    if abs(ahead) <= _CLOCK_S:
        return records
    return [dataclasses.replace(record, started_at=record.started_at + ahead) for record in records]


def shifted_events(events: list[LiveEvent], ahead: float) -> list[LiveEvent]:
    """Return events of running matches with times by another clock; see `shifted`."""
    if abs(ahead) <= _CLOCK_S:
        return events
    return [dataclasses.replace(event, t=event.t + ahead) for event in events]


def encode(message: ClusterMessage) -> bytes:
    """Encode a message."""
    return _encoder.encode(message)

"""The hub and pieces of contents whose coordinator has disconnected."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from arena.executor.cluster import messages
from arena.executor.cluster.facts import WorkerFacts
from arena.executor.cluster.hub import ClusterHub
from arena.executor.cluster.messages import (
    OP,
    AskStatus,
    ContentPiece,
    Hello,
    JoinRun,
    Status,
    Want,
    encode,
)
from arena.executor.cluster.pieces import PieceCache
from arena.executor.slots import Slot

if TYPE_CHECKING:
    from pathlib import Path

    from arena.executor.cluster.messages import ClusterMessage, MachineState

FACTS = WorkerFacts(
    name="lab3",
    slots=2,
    cores=2,
    memory=1,
    cpu="x",
    tiers=("T1",),
    arena="a",
    version="1",
    games={},
    runs="r",
    speed=1.0,
)
CONTENT = "c" * 64


class Scheduler:
    """A scheduler that records what the hub sends."""

    def __init__(self) -> None:
        self.stream_handlers: dict[str, Any] = {}
        self.stream_comms: dict[str, object] = {}
        self.client_comms: dict[str, object] = {}
        self.asked: list[tuple[str, Want]] = []
        """The requests that coordinators received."""
        self.pieces: list[tuple[str, ContentPiece]] = []
        """The pieces that slots received."""
        self.machines: tuple[MachineState, ...] = ()

    def worker_send(self, address: str, message: dict[str, Any]) -> None:
        said = messages.for_slot(message["data"])
        if isinstance(said, ContentPiece):
            self.pieces.append((address, said))

    def client_send(self, client: str, message: dict[str, Any]) -> None:
        said = messages.for_coordinator(message["data"])
        if isinstance(said, Want):
            self.asked.append((client, said))
        elif isinstance(said, Status):
            self.machines = said.machines

    def hear(self, message: ClusterMessage, *, worker: str = "", client: str = "") -> None:
        self.stream_handlers[OP](data=encode(message), worker=worker, client=client)


@pytest.fixture
def hub(tmp_path: Path) -> ClusterHub:
    return ClusterHub(PieceCache(tmp_path))


@pytest.fixture
def scheduler(hub: ClusterHub) -> Scheduler:
    """Return a scheduler with two slots, and one run for each of two coordinators."""
    scheduler = Scheduler()
    asyncio.run(hub.start(scheduler))  # pyright: ignore[reportArgumentType] - what a hub uses of it
    for number, address in enumerate(("one", "other")):
        scheduler.stream_comms[address] = object()
        scheduler.hear(Hello(Slot("lab3", number, "a" * 32), FACTS), worker=address)
    for run, client in (("red", "first"), ("blue", "second")):
        scheduler.hear(JoinRun(run), client=client)
    return scheduler


def test_a_piece_is_asked_for_once(scheduler: Scheduler) -> None:
    for address in ("one", "other"):
        scheduler.hear(Want("red", CONTENT, 0), worker=address)
    assert scheduler.asked == [("first", Want("red", CONTENT, 0))]
    scheduler.hear(ContentPiece(CONTENT, 0, b"code"), client="first")
    assert sorted(scheduler.pieces) == [
        (each, ContentPiece(CONTENT, 0, b"code")) for each in ("one", "other")
    ]
    # After that the piece is in the hub's cache.
    scheduler.hear(Want("blue", CONTENT, 0), worker="one")
    assert len(scheduler.asked) == 1
    assert len(scheduler.pieces) == 3


def test_when_who_was_asked_is_gone_the_next_one_is_asked(hub: ClusterHub, scheduler: Scheduler) -> None:
    scheduler.hear(Want("red", CONTENT, 0), worker="one")
    scheduler.hear(Want("blue", CONTENT, 0), worker="other")
    assert scheduler.asked == [("first", Want("red", CONTENT, 0))]
    hub.remove_client(scheduler, "first")  # pyright: ignore[reportArgumentType]
    # The slot of its run is informed at once, without waiting for a timeout.
    assert [(address, bool(piece.why)) for address, piece in scheduler.pieces] == [("one", True)]
    assert scheduler.asked[1:] == [("second", Want("blue", CONTENT, 0))]
    scheduler.hear(ContentPiece(CONTENT, 0, b"code"), client="second")
    assert scheduler.pieces[1:] == [("other", ContentPiece(CONTENT, 0, b"code"))]
    # The first coordinator returns with its run, and gets the request again.
    scheduler.hear(JoinRun("red"), client="third")
    scheduler.hear(Want("red", CONTENT, 1), worker="one")
    assert scheduler.asked[2:] == [("third", Want("red", CONTENT, 1))]


def test_a_slot_that_left_gets_no_answer(hub: ClusterHub, scheduler: Scheduler) -> None:
    scheduler.hear(Want("red", CONTENT, 0), worker="one")
    hub.remove_worker(scheduler, "one")  # pyright: ignore[reportArgumentType]
    scheduler.hear(ContentPiece(CONTENT, 0, b"code"), client="first")
    assert scheduler.pieces == []


def test_the_table_shows_the_speed_of_a_slot_that_is_there(hub: ClusterHub, scheduler: Scheduler) -> None:
    second = Hello(Slot("lab3", 0, "b" * 32), msgspec.structs.replace(FACTS, speed=0.5))
    scheduler.stream_comms["second worker"] = object()
    scheduler.hear(second, worker="second worker")
    hub.remove_worker(scheduler, "second worker")  # pyright: ignore[reportArgumentType] - what a hub uses of it
    scheduler.hear(AskStatus(), client="first")
    (machine,) = scheduler.machines
    assert (machine.slots, machine.speed) == (2, 1.0)

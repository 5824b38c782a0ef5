"""How the connection of a slot ends: its process ends with it, or after all that was to be sent."""

from __future__ import annotations

import asyncio
import os
import threading
from typing import TYPE_CHECKING

import pytest

from arena.executor.cluster.facts import find_facts
from arena.executor.cluster.key_files import SchedulerPlace
from arena.executor.cluster.messages import Ack, encode
from arena.executor.cluster.setups import LOST
from arena.executor.cluster.slot_link import SlotLink
from arena.executor.slots import Slot

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("error", [None, ValueError("a name is taken")])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_the_process_ends_with_its_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: ValueError | None
) -> None:
    link = SlotLink(
        Slot("machine", 0, "start"), SchedulerPlace("tcp://127.0.0.1:1", None), find_facts(1, 0.0), tmp_path
    )
    statuses: list[int] = []
    has_ended = threading.Event()

    async def serve() -> None:
        if error is not None:
            raise error

    def end(status: int) -> None:
        statuses.append(status)
        has_ended.set()
        # `start` waits for an answer or for the end.
        link.is_ending = True

    monkeypatch.setattr(link, "serve", serve)
    monkeypatch.setattr(os, "_exit", end)
    link.start()
    assert has_ended.wait(60)
    assert statuses == [LOST]
    assert not link.has_joined


class Line:
    """The parts of a Dask worker that a slot uses; `stream` and `comm` of its connection as well."""

    def __init__(self) -> None:
        self.batched_stream = self.comm = self.stream = self
        self.buffer: list[dict[str, object]] = []
        self.is_writing = False

    def batched_send(self, message: dict[str, object]) -> None:
        self.buffer.append(message)

    def writing(self) -> bool:
        return self.is_writing


def test_a_slot_that_ends_waits_for_its_last_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line is slow: results wait in every place where something can wait."""
    link = SlotLink(
        Slot("machine", 0, "start"), SchedulerPlace("tcp://127.0.0.1:1", None), find_facts(1, 0.0), tmp_path
    )
    loop, line = asyncio.new_event_loop(), Line()
    monkeypatch.setattr(link, "_loop", loop, raising=False)
    monkeypatch.setattr(link, "_worker", line, raising=False)
    monkeypatch.setattr(link, "_joined", threading.Event())
    monkeypatch.setattr(link, "_unacked", {("run", 1, 0): 5})
    link._joined.set()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    link._starts.start(loop)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    connection = threading.Thread(target=loop.run_forever)
    connection.start()
    leaving = threading.Thread(target=link.leave)
    leaving.start()

    def waits() -> bool:
        leaving.join(1.0)
        return leaving.is_alive()

    assert waits()
    assert not line.buffer, "the hub has not heard the results"
    loop.call_soon_threadsafe(link._hear, encode(Ack("run", 1, 0)))  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    assert waits()
    assert len(line.buffer) == 1, "the farewell"
    line.is_writing = True
    line.buffer.clear()
    assert waits()
    line.is_writing = False
    leaving.join(60)
    assert not leaving.is_alive()
    loop.call_soon_threadsafe(loop.stop)
    connection.join()
    loop.close()

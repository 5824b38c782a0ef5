"""A slot without a connection ends its process, and its supervisor starts another one."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest

from arena.executor.cluster.facts import find_facts
from arena.executor.cluster.key_files import SchedulerPlace
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

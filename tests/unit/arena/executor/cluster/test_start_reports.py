"""Reports of starting matches: short ones together, suspects before play, none lost or repeated."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING

import pytest

from arena.executor.cluster.start_reports import StartReports

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arena.executor.cluster.messages import Begun

DEADLINE_S = 60.0
BATCH = ("run", 1)


class Connection:
    """An event loop in a thread of its own, and the messages sent in it."""

    def __init__(self) -> None:
        self.sent: list[Begun] = []
        self.waiting = self.unwritten = 0
        self.loop = asyncio.new_event_loop()
        self.reports = StartReports(self._send, lambda: not self.waiting)
        self.reports.start(self.loop)
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()

    @property
    def numbers(self) -> list[int]:
        return [number for begun in self.sent for number in begun.numbers]

    def _send(self, begun: Begun) -> None:
        self.sent.append(begun)
        self.waiting += 1
        self.unwritten += 1
        # As in Dask, a sent message is queued for some time, and written one turn of the loop later.
        self.loop.call_later(0.01, self._take)

    def _take(self) -> None:
        self.waiting -= 1
        # The machine is busy, so the thread of the loop is not run for a while.
        self.loop.call_soon(time.sleep, 0.02)
        self.loop.call_soon(self._write)

    def _write(self) -> None:
        self.unwritten -= 1

    def await_numbers(self, num: int) -> None:
        ends_at = time.monotonic() + DEADLINE_S
        while len(self.numbers) < num:
            assert time.monotonic() < ends_at
            time.sleep(0.001)


@pytest.fixture
def connection() -> Iterator[Connection]:
    found = Connection()
    yield found
    found.loop.call_soon_threadsafe(found.loop.stop)
    found.thread.join()
    found.loop.close()


def test_short_matches_are_reported_together(connection: Connection) -> None:
    began_at = time.monotonic()
    for number in range(2000):
        connection.reports.note(BATCH, number, is_suspect=False)
        time.sleep(0.0001)
    connection.await_numbers(2000)
    passed_s = time.monotonic() - began_at
    assert connection.numbers == list(range(2000))
    # One report at once, then one in 0.05 s.
    assert len(connection.sent) <= 2 + passed_s / 0.05


def test_a_start_after_a_quiet_time_is_reported_without_another_one(connection: Connection) -> None:
    for number in range(20):
        connection.reports.note(BATCH, number, is_suspect=False)
        connection.await_numbers(number + 1)


def test_no_start_is_forgotten_however_the_threads_meet(connection: Connection) -> None:
    """Other messages report starts as well, at any moment."""
    for number in range(3000):
        connection.reports.note(BATCH, number, is_suspect=False)
        connection.loop.call_soon_threadsafe(connection.reports.report)
    connection.await_numbers(3000)
    connection.reports.note(BATCH, 3000, is_suspect=False)
    connection.await_numbers(3001)
    assert connection.numbers == list(range(3001))


def test_a_start_that_was_taken_while_it_was_noted_keeps_no_later_one_back() -> None:
    sent: list[int] = []
    loop = asyncio.new_event_loop()
    reports = StartReports(lambda begun: sent.extend(begun.numbers), lambda: True)
    reports.start(loop)
    reports.note(BATCH, 1, is_suspect=False)
    # The state of `report` if a start is noted after its first steps: it takes the start, and another report
    # has already been requested. Two threads meet like this once in a million starts.
    reports._starts.clear()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    loop.run_until_complete(asyncio.sleep(0.1))
    reports.note(BATCH, 2, is_suspect=False)
    loop.run_until_complete(asyncio.sleep(0.1))
    loop.close()
    assert sent == [2]


def test_a_suspect_is_reported_and_written_before_it_is_played(connection: Connection) -> None:
    for number in range(20):
        connection.reports.note(BATCH, number, is_suspect=True)
        assert connection.numbers[-1] == number
        assert not connection.unwritten


def test_each_batch_has_its_own_message(connection: Connection) -> None:
    connection.reports.note(BATCH, 1, is_suspect=False)
    connection.await_numbers(1)
    for batch, number in ((1, 2), (1, 3), (2, 4)):
        connection.reports.note(("run", batch), number, is_suspect=False)
    connection.await_numbers(4)
    assert connection.numbers == [1, 2, 3, 4]
    batches = {number: each.batch for each in connection.sent for number in each.numbers}
    assert batches == {1: 1, 2: 1, 3: 1, 4: 2}

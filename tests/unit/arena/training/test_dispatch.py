"""Shards are sent again if slots die, fail or return wrong results, and given up after three losses."""

from __future__ import annotations

import threading
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import closing
from queue import SimpleQueue
from typing import TYPE_CHECKING, NamedTuple

import pytest

from arena.errors import ArenaError
from arena.executor.shards import ShardCall, ShardTask
from arena.executor.slots import (
    PoolLostError,
    ShardFailedError,
    Slot,
    UnplayedError,
    WorkerLostError,
    WrongResultError,
)
from arena.training import dispatch
from arena.training.dispatch import Dispatcher, Paces
from arena.training.stopping import Stopped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

DEADLINE_S = 60.0
PC1, PC2 = Slot("1" * 32, 0, "a"), Slot("2" * 32, 0, "b")


class Sent(NamedTuple):
    """A shard that was sent to a slot."""

    call: ShardCall
    slot: Slot
    future: Future[bytes]

    @property
    def data(self) -> bytes:
        return self.call.task.data


class ScriptedPool:
    """A pool whose slots behave as a test specifies."""

    def __init__(self) -> None:
        self.here: Sequence[Slot] = (PC1, PC2)
        self.sent: SimpleQueue[Sent] = SimpleQueue()
        self.told: SimpleQueue[str] = SimpleQueue()
        self.thread = threading.get_ident()

    def slots(self) -> Sequence[Slot]:
        return self.here

    def submit(self, call: ShardCall, slot: Slot) -> Future[bytes]:
        future: Future[bytes] = Future()
        self.sent.put(Sent(call, slot, future))
        return future

    def notes(self) -> list[str]:
        return []

    def put_aside(self, machine: str, why: str) -> str:
        self.told.put(f"aside: {why}")
        return f"pc{machine[0]}"

    def grow(self, num: int) -> None:
        del num

    def rebuild(self) -> None:
        self.told.put("rebuild")

    def stop(self) -> None:
        self.told.put("stop")

    def go(self) -> None:
        self.told.put("go")

    def abort(self) -> None:
        self.told.put("abort")

    def close(self) -> None:
        self.told.put("close")

    def next(self) -> Sent:
        return self.sent.get(timeout=DEADLINE_S)


class Stage:
    """A dispatcher with a scripted pool."""

    def __init__(self) -> None:
        self.pool = ScriptedPool()
        self.said: list[str] = []
        self.is_stopping = False
        self.devices: list[str] = []
        self.dispatcher = Dispatcher(self._open, say=self.said.append, is_stopping=lambda: self.is_stopping)

    def ask(self, data: bytes, check: Callable[[bytes], str] = lambda _: "") -> Future[bytes]:
        task = ShardTask("held", "held_play:echo", data, (), "cpu", f"shard {data.decode()}")
        return self.dispatcher.submit(ShardCall(task, ()), check)

    def _open(self, device: str, folder: Path) -> ScriptedPool:
        assert folder.is_dir()
        self.devices.append(device)
        return self.pool


@pytest.fixture
def stage() -> Iterator[Stage]:
    found = Stage()
    with closing(found.dispatcher):
        yield found


def test_each_slot_has_one_shard_and_results_go_to_their_futures(stage: Stage) -> None:
    futures = [stage.ask(name) for name in (b"a", b"b", b"c")]
    first, second = stage.pool.next(), stage.pool.next()
    assert {first.slot, second.slot} == {PC1, PC2}
    assert stage.pool.sent.empty()
    second.future.set_result(b"B")
    third = stage.pool.next()
    assert third.slot == second.slot
    third.future.set_result(b"C")
    first.future.set_result(b"A")
    assert [future.result(DEADLINE_S) for future in futures] == [b"A", b"B", b"C"]
    assert stage.devices == ["cpu"]


def test_a_lost_shard_is_computed_again(stage: Stage) -> None:
    future = stage.ask(b"a")
    sent = stage.pool.next()
    sent.future.set_exception(WorkerLostError(sent.slot))
    stage.pool.next().future.set_result(b"A")
    assert future.result(DEADLINE_S) == b"A"
    assert stage.pool.told.get(timeout=DEADLINE_S) == "rebuild"
    assert stage.said == ["shard a is computed again: its slot died"]


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (WorkerLostError(PC1), "its slot died"),
        (ShardFailedError("ValueError: bad"), "ValueError: bad"),
    ],
)
def test_three_losses_end_the_training_with_the_shards_name(stage: Stage, error: Exception, why: str) -> None:
    future, other = stage.ask(b"a"), None
    machines: list[str] = []
    for _ in range(3):
        sent = stage.pool.next()
        machines.append(sent.slot.machine)
        sent.future.set_exception(error)
    with pytest.raises(ArenaError, match=f"shard a failed 3 times, at last because {why}"):
        future.result(DEADLINE_S)
    assert len(set(machines)) == 2, "the last try is on another machine"
    other = stage.ask(b"b")
    stage.pool.next().future.set_result(b"B")
    assert other.result(DEADLINE_S) == b"B"


@pytest.mark.parametrize("error", [UnplayedError(), PoolLostError("gone")])
def test_what_was_not_computed_is_not_counted(stage: Stage, error: Exception) -> None:
    future = stage.ask(b"a")
    for _ in range(7):
        stage.pool.next().future.set_exception(error)
    stage.pool.next().future.set_result(b"A")
    assert future.result(DEADLINE_S) == b"A"
    assert stage.said == []


@pytest.mark.parametrize("is_checked", [True, False])
def test_a_machine_that_lies_is_put_aside(stage: Stage, *, is_checked: bool) -> None:
    future = stage.ask(b"a", lambda result: "" if result == b"A" else "a match has no end")
    liar = stage.pool.next()
    if is_checked:
        liar.future.set_result(b"X")
    else:
        liar.future.set_exception(WrongResultError(liar.slot, "a match has no end"))
    again = stage.pool.next()
    assert again.slot != liar.slot
    again.future.set_result(b"A")
    assert future.result(DEADLINE_S) == b"A"
    assert stage.pool.told.get(timeout=DEADLINE_S) == "aside: it sent wrong results: a match has no end"
    assert any(
        text.startswith(f"nothing is computed on pc{liar.slot.machine[0]} for 10 min") for text in stage.said
    )
    # The machine with the wrong result gets no shard, although it is free.
    for name in (b"b", b"c"):
        stage.ask(name)
    assert stage.pool.next().slot == again.slot
    assert stage.pool.sent.empty()


def test_a_check_that_fails_ends_the_training(stage: Stage) -> None:
    def check(_: bytes) -> str:
        raise ZeroDivisionError("a fault of the trainer")

    first, second = stage.ask(b"a", check), stage.ask(b"b")
    stage.pool.next().future.set_result(b"A")
    for future in (first, second, stage.ask(b"c")):
        assert isinstance(future.exception(DEADLINE_S), ZeroDivisionError)


def test_a_shard_that_nobody_waits_for_is_not_sent(stage: Stage) -> None:
    futures = [stage.ask(name) for name in (b"a", b"b", b"c")]
    first, second = stage.pool.next(), stage.pool.next()
    assert futures[2].cancel()
    assert futures[0].cancel()
    first.future.set_result(b"A")
    second.future.set_result(b"B")
    assert futures[1].result(DEADLINE_S) == b"B"
    with pytest.raises(CancelledError):
        futures[0].result(DEADLINE_S)
    assert stage.ask(b"d")
    assert stage.pool.next().data == b"d"


def test_a_stop_ends_a_wait_for_machines(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "_IDLE_S", 0.0)
    stage.pool.here = ()
    future = stage.ask(b"a")
    stage.is_stopping = True
    with pytest.raises(Stopped):
        future.result(DEADLINE_S)
    with pytest.raises(Stopped):
        stage.ask(b"b").result(DEADLINE_S)


def test_a_stop_waits_for_the_step_while_there_are_slots(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "_IDLE_S", 1e9)
    stage.is_stopping = True
    future = stage.ask(b"a")
    stage.pool.next().future.set_result(b"A")
    assert future.result(DEADLINE_S) == b"A"


def test_orders_reach_the_pool_and_closing_ends_all_waits(stage: Stage) -> None:
    future = stage.ask(b"a")
    stage.pool.next()
    for order in ("stop", "go", "abort"):
        stage.dispatcher.order(order)
    stage.dispatcher.close()
    assert [stage.pool.told.get(timeout=DEADLINE_S) for _ in range(4)] == ["stop", "go", "abort", "close"]
    with pytest.raises(Stopped):
        future.result(DEADLINE_S)


def test_a_pool_that_cannot_go_on_ends_the_training() -> None:
    def fail(_device: str, _folder: Path) -> ScriptedPool:
        raise ArenaError("the scheduler does not start")

    dispatcher = Dispatcher(fail, say=print, is_stopping=lambda: False)
    with closing(dispatcher):
        task = ShardTask("held", "held_play:echo", b"", (), "cpu", "a shard")
        for _ in range(2):
            with pytest.raises(ArenaError, match="does not start"):
                dispatcher.submit(ShardCall(task, ()), lambda _: "").result(DEADLINE_S)


def test_a_slow_slot_leaves_the_last_shard_unless_it_was_lost(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr(dispatch, "Paces", lambda: Paces(lambda: now))
    for _ in range(2):
        futures = [stage.ask(name) for name in (b"a", b"b")]
        by_slot = {sent.slot: sent.future for sent in (stage.pool.next(), stage.pool.next())}
        now += 1
        by_slot[PC1].set_result(b"done")
        wait(futures, DEADLINE_S, FIRST_COMPLETED)
        now += 9
        by_slot[PC2].set_result(b"done")
        wait(futures, DEADLINE_S)
    first, second = stage.ask(b"c"), stage.ask(b"d")
    sent = stage.pool.next()
    assert sent.slot == PC1
    sent.future.set_exception(WorkerLostError(PC1))
    # The lost one may be computed by both.
    later = [stage.pool.next(), stage.pool.next()]
    assert {each.data for each in later} == {b"c", b"d"}
    assert {each.slot: each.data for each in later}[PC2] == sent.data
    for each in later:
        each.future.set_result(b"done")
    assert [first.result(DEADLINE_S), second.result(DEADLINE_S)] == [b"done", b"done"]

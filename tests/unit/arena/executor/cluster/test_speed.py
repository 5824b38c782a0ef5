"""An idle machine measures its speed again, and its slots report a change to the cluster."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING

import msgspec
import pytest

from arena.executor.cluster import speed
from arena.executor.cluster.coordinator_link import ask_status
from arena.executor.cluster.facts import find_facts
from arena.executor.cluster.private import PrivateCluster
from arena.executor.cluster.setups import SupervisorSetup
from arena.executor.cluster.speed import SOON_S, Measurement, SpeedWatch, measure_speed
from arena.executor.cluster.supervisor import SlotProcess, Supervisor
from arena.games.kernels import bulk
from arena.own_python import own_python

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from arena_plugins import Game

DEADLINE_S = 60.0
MINUTE = 60.0
SUPERVISOR = """
from arena.executor.cluster import speed
from arena.executor.cluster.supervisor import main

class Changed(speed.Measurement):
    def __init__(self, slots):
        super().__init__(0)

    def result(self):
        return 1.5

speed.SOON_S = speed.AGAIN_S = speed.QUIET_S = 0.5
speed.Measurement = Changed
main()
"""


class Clock:
    """A simulated clock, in place of the module `time`."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


class Known:
    """A measurement with known duration and result; counts the running ones."""

    results: list[float]
    running = 0

    def __init__(self, slots: int) -> None:
        assert slots == 3
        type(self).running += 1
        self._looks = 0

    def is_over(self) -> bool:
        self._looks += 1
        return self._looks > 1

    def result(self) -> float:
        type(self).running -= 1
        return self.results.pop(0)

    def cancel(self) -> None:
        type(self).running -= 1


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(speed, "time", found)
    monkeypatch.setattr(speed, "Measurement", Known)
    monkeypatch.setattr(Known, "running", 0)
    return found


def _looks(watch: SpeedWatch, num: int) -> list[float | None]:
    return [watch.look(is_idle=True) for _ in range(num)]


def begin(clock: Clock) -> SpeedWatch:
    """Return a watch that has just measured, as at the start."""
    watch, before = SpeedWatch(3, 1.0), Known.results
    Known.results = [1.0]
    clock.now += SOON_S
    _looks(watch, 3)
    Known.results = before
    return watch


def test_a_machine_that_was_busy_when_it_started_is_measured_soon_again(clock: Clock) -> None:
    Known.results = [1.0]
    watch = SpeedWatch(3, 0.7)
    clock.now += SOON_S - 1
    assert _looks(watch, 3) == [None] * 3
    clock.now += 1
    assert _looks(watch, 3) == [None, None, 1.0]


def test_a_machine_that_could_not_be_measured_is_measured_later(clock: Clock) -> None:
    Known.results = [0.0, 0.9]
    watch = SpeedWatch(3, 0.0)
    clock.now += SOON_S
    assert _looks(watch, 3) == [None] * 3
    clock.now += 30 * MINUTE
    assert _looks(watch, 3) == [None, None, 0.9]


def test_a_process_that_is_stopped_once_is_no_slower(monkeypatch: pytest.MonkeyPatch) -> None:
    play, num = bulk.random_matches, 0

    def stumble(game: Game, matches: int, seed: int) -> object:
        nonlocal num
        num += 1
        if num == 20:
            time.sleep(2.0)
        return play(game, matches, seed)

    alone = measure_speed(0.3)
    monkeypatch.setattr(bulk, "random_matches", stumble)
    # A machine that others use, too, may be twice as slow the second time; the pause alone makes it ten
    # times.
    assert measure_speed(0.6) > alone / 5


def test_an_idle_machine_is_measured_every_half_hour(clock: Clock) -> None:
    Known.results = [1.04, 1.06, 1.06, 0.0, 0.9]
    watch = begin(clock)
    clock.now += 29 * MINUTE
    assert _looks(watch, 3) == [None] * 3
    assert not Known.running
    clock.now += MINUTE
    assert _looks(watch, 4) == [None] * 4, "four percent change nothing"
    assert _looks(watch, 3) == [None] * 3, "half an hour from the last one"
    assert len(Known.results) == 4
    clock.now += 30 * MINUTE
    assert _looks(watch, 3) == [None, None, 1.06], "six percent of the speed that the machine told"
    clock.now += 30 * MINUTE
    assert _looks(watch, 3) == [None] * 3, "the new speed is the one to compare with"
    clock.now += 30 * MINUTE
    assert _looks(watch, 3) == [None] * 3, "a failed measurement says nothing"
    clock.now += 30 * MINUTE
    assert _looks(watch, 3) == [None, None, 0.9], "a slower machine as well"
    assert not Known.results
    assert not Known.running


def test_work_ends_a_measurement_and_puts_it_off(clock: Clock) -> None:
    Known.results = [2.0]
    watch = begin(clock)
    clock.now += 30 * MINUTE
    watch.look(is_idle=True)
    assert Known.running == 1
    assert watch.look(is_idle=False) is None
    assert not Known.running, "it would slow down the match"
    clock.now += 9.9
    watch.look(is_idle=True)
    assert not Known.running, "between two batches"
    clock.now += 0.1
    assert _looks(watch, 3) == [None, None, 2.0]


def test_a_machine_whose_speed_does_not_matter_is_never_measured(clock: Clock) -> None:
    watch = SpeedWatch(3, 0.0, measures=False)
    clock.now += 300 * MINUTE
    assert _looks(watch, 3) == [None] * 3
    assert not Known.running


def test_slots_are_measured_at_the_same_time() -> None:
    alone = measure_speed(0.2)
    measurement = Measurement(2)
    assert not measurement.is_over()
    found = measurement.result()
    assert measurement.is_over()
    # Tolerant of a busy machine, but strict enough to detect a formula without the reference or the seconds.
    assert alone / 20 < found < 20 * alone


def test_a_cancelled_measurement_leaves_no_process() -> None:
    began = time.monotonic()
    measurement = Measurement(2)
    measurement.cancel()
    assert measurement.is_over()
    assert measurement.result() == 0.0
    assert time.monotonic() - began < DEADLINE_S


@pytest.mark.parametrize(
    ("words", "is_idle"),
    [
        (("connected",), True),
        ((), False),
        (("connected", "busy"), False),
        (("connected", "busy", "played", "free"), True),
    ],
)
def test_a_machine_is_idle_if_no_slot_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], *, is_idle: bool
) -> None:
    told: list[bool] = []

    def look(_: SpeedWatch, *, is_idle: bool) -> None:
        told.append(is_idle)

    monkeypatch.setattr(SpeedWatch, "look", look)
    own = Supervisor(SupervisorSetup(address="", keys="", facts=find_facts(2, 1.0)), print)
    slots = [SlotProcess(number, tmp_path) for number in range(2)]
    for slot, said in zip(slots, (("connected",), words), strict=True):
        program = f"print(*{said}, sep=chr(10))"
        with subprocess.Popen(own_python("-c", program), stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
            slot.read(process)
    own.watch_speed(slots)
    assert told == [is_idle]


def test_a_worker_says_when_its_scheduler_is_gone_and_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, told = [0.0], list[str]()
    monkeypatch.setattr("arena.executor.cluster.supervisor.time.monotonic", lambda: now[0])
    own = Supervisor(SupervisorSetup(address="tls://lab:1", keys="", facts=find_facts(2, 1.0)), told.append)
    slots = [SlotProcess(number, tmp_path) for number in range(2)]
    steps = ((0, 0), (30, 1), (1, 2), (5, 1), (5, 0), (9, 0), (1, 0), (60, 0), (1, 1), (5, 2))
    for seconds, connected in steps:
        now[0] += seconds
        for slot in slots:
            slot.is_connected = slot.number < connected
        own.tell_connection(slots)
    own._num_signals = 1  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - as Ctrl-C does
    now[0] += 60
    slots[0].is_connected = False
    own.tell_connection(slots)
    assert [line.rpartition(", ")[2] for line in told] == [
        "connected",
        "no scheduler answers at tls://lab:1; the slots keep trying",
        "connected again",
    ]


@pytest.mark.parametrize(("seconds", "num_deaths"), [(1, 1), (1000, 0)])
def test_a_slot_that_lived_long_has_died_all_the_same(tmp_path: Path, seconds: int, num_deaths: int) -> None:
    slot = SlotProcess(0, tmp_path)
    with subprocess.Popen(own_python("-c", "exit(1)"), text=True) as slot.process:  # noqa: S603 - this interpreter
        slot.process.wait()
        slot.began = time.monotonic() - seconds
        assert slot.has_ended()
    assert slot.has_died, "the worker says so"
    assert slot.num_deaths == num_deaths


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[PrivateCluster]:
    """Run a cluster whose machine gets another speed as soon as it is idle."""
    monkeypatch.setenv("ARENA_HOME", str(tmp_path / "home"))
    with closing(PrivateCluster(1, tmp_path)) as own:
        facts = msgspec.structs.replace(find_facts(2, 1.0), name="changing")
        setup = SupervisorSetup(
            address=own.place.address,
            keys=str(tmp_path / "cluster" / "local.key"),
            facts=facts,
            parent=os.getpid(),
        )
        with subprocess.Popen(  # noqa: S603 - our own code
            [sys.executable, "-P", "-c", SUPERVISOR],
            env=os.environ | {"ARENA_HOME": str(tmp_path / "another machine")},
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdin is not None
            process.stdin.write(msgspec.json.encode(setup).decode() + "\n")
            process.stdin.close()
            yield own
            process.terminate()
            assert process.stderr is not None
            said = process.stderr.read()
            assert process.wait(DEADLINE_S) == 0
        assert said.count("changing: speed 1.50 instead of 1.00; the slots start again") == 1
        assert "died" not in said


def test_the_cluster_learns_the_new_speed(cluster: PrivateCluster) -> None:
    ends_at = time.monotonic() + DEADLINE_S
    found: set[tuple[str, int]] = set()
    while ("1.50", 2) not in found:
        assert time.monotonic() < ends_at, found
        time.sleep(0.1)
        found = {(f"{each.speed:.2f}", each.slots) for each in ask_status(cluster.place)}

"""What counts as waiting for other processes: computed by hand, then with bots that are starved."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import arena_plugins
from arena.match import MatchResult, MatchSetup, play_match
from arena.referee import stall
from arena.referee.hosted import HostedSeat
from arena.referee.stall import (
    Starvation,
    delays_itself,
    is_stall,
    kept_by_others_s,
    most_given_back_s,
    near_s,
    suspended_s,
)
from arena.referee.timecontrol import TimeControl
from arena.sandbox.process_settings import ProcessSettings
from arena.sandbox.waiting import Waited, idle_s
from arena_plugins.manager import load_game
from wire_bots import SEARCH, wire_bot

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator


@pytest.mark.parametrize(
    ("kept_s", "asleep_s", "computed_s", "expected"),
    [
        (0.0, 0.0, 0.0, False),
        # Late in spite of the time given back, which is at most 2 s: it loses.
        (1.999, 0.0, 0.0, False),
        (2.0, 0.0, 0.0, True),
        (2.0, 0.0, 1.0, True),
        (0.0, 0.01, 0.0, False),
        (0.0, 0.02, 0.0, True),
        (0.0, 0.02, 0.89, True),
        (0.0, 0.02, 0.9, False),
    ],
)
def test_who_is_at_fault(kept_s: float, asleep_s: float, computed_s: float, *, expected: bool) -> None:
    found = is_stall(window_s=1.0, kept_s=kept_s, most_s=2.0, asleep_s=asleep_s, computed_s=computed_s)
    assert found == expected


def test_where_nothing_is_given_back_nothing_is_a_stall() -> None:
    assert not is_stall(window_s=1.0, kept_s=0.0, most_s=0.0, asleep_s=0.0, computed_s=0.0)


@pytest.mark.parametrize(
    ("margin_s", "near", "most"), [(0.05, 0.1, 2.0), (0.2, 0.4, 8.0), (0.01, 0.05, 1.0), (0.0, 0.05, 1.0)]
)
def test_how_long_before_a_deadline_delays_are_given_back(margin_s: float, near: float, most: float) -> None:
    assert near_s(margin_s) == pytest.approx(near)
    assert most_given_back_s(margin_s) == pytest.approx(most)


@pytest.mark.parametrize(
    ("waited_s", "idle_s", "used_s", "expected"),
    [
        # One core, 100 ms; other processes had it for 80 of them.
        (0.08, [0.0], 0.02, 0.08),
        # The bot's own wait is the upper bound.
        (0.03, [0.0], 0.02, 0.03),
        # Many of its threads waited for each other; the core was the bot's, or idle.
        (0.09, [0.5], 0.05, 0.0),
        (0.05, [0.05], 0.05, 0.0),
        (0.05, [0.04], 0.05, 0.01),
        # Two cores: while one is idle, no process waits.
        (0.08, [0.1, 0.0], 0.02, 0.0),
        (0.08, [0.07, 0.0], 0.02, 0.03),
        (0.08, [0.0, 0.0], 0.15, 0.05),
        (0.08, [0.0, 0.0], 0.25, 0.0),
    ],
)
def test_how_long_others_kept_a_bot_from_its_cores(
    waited_s: float, idle_s: list[float], used_s: float, expected: float
) -> None:
    found = kept_by_others_s(waited_s=waited_s, wall_s=0.1, idle_s=idle_s, used_s=used_s)
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("used_s", "num_cores", "expected"),
    [
        (0.0, 1, False),
        (0.06, 1, False),
        (0.061, 1, True),
        (0.1, 2, False),
        (0.121, 2, True),
        (0.9, 16, False),
    ],
)
def test_a_bot_with_most_of_its_cores_delays_itself(used_s: float, num_cores: int, *, expected: bool) -> None:
    assert delays_itself(used_s=used_s, wall_s=0.1, num_cores=num_cores) == expected


def test_elsewhere_no_suspend_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert suspended_s() == 0.0


def test_no_suspend_while_this_runs() -> None:
    # This process may itself have to wait between two clocks, but not at every try.
    assert min(abs(suspended_s() - suspended_s()) for _ in range(100)) < 0.01


HOSTILE = str(Path(arena_plugins.__file__).parent / "hostile" / "__main__.py")
GAME = load_game("tic-tac-toe")
LIMIT_MS = 200
TICK_S = 0.01


NOW = (0.0, 0.0)
"""Deadline and margin of 0: the watch looks at every beat."""


class World:
    """A simulated bot that waits and runs, on simulated cores."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, cores: int = 1) -> None:
        self.now = self.used_s = self.own_s = 0.0
        self.idle_s = dict.fromkeys(range(cores), 0.0)
        self.num_looks = self.num_stats = 0
        self._progress = Waited(0.0, 0.0)
        self.starvation = Starvation(1, range(cores))
        monkeypatch.setattr(stall, "Waiting", self._watch)
        monkeypatch.setattr(stall, "idle_s", self._stat)
        monkeypatch.setattr(stall, "tick_s", lambda: TICK_S)
        monkeypatch.setattr(time, "monotonic", lambda: self.now)
        monkeypatch.setattr(time, "process_time", lambda: self.own_s)

    def _watch(self, _: object) -> World:
        return self

    def _stat(self, cores: range) -> dict[int, float]:
        self.num_stats += 1
        return {core: self.idle_s[core] for core in cores if core in self.idle_s}

    def look(self, _: float) -> Waited:
        self.num_looks += 1
        return self._progress

    def beat(self, waited_s: float, ran_s: float, idle_s: float = 0.0, clock_s: float | None = None) -> None:
        """Advance the time by 10 ms; `clock_s` is what the clock of the process reports of `ran_s`."""
        self.now += 0.01
        self.used_s += ran_s if clock_s is None else clock_s
        for core in self.idle_s:
            self.idle_s[core] += idle_s
        self._progress = Waited(waited_s, ran_s)
        self.starvation.look(self.now, self.used_s)
        self._progress = Waited(0.0, 0.0)

    def waited_ms(self) -> float:
        return round(1000 * self.starvation.waited_s(self.used_s), 6)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch)


@pytest.mark.parametrize(
    ("deadline", "margin_s", "looks"),
    [
        # Two margins before the deadline, then not before the limit, then at every beat.
        (0.1, 0.03, [0, 0, 0, 0, 1, 1, 1, 2, 3, 4]),
        (0.1, 0.01, [0, 0, 0, 0, 0, 1, 1, 1, 1, 2]),
        (0.1, 0.0, [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]),
    ],
)
def test_when_there_is_a_look(world: World, deadline: float, margin_s: float, looks: list[int]) -> None:
    world.starvation.begin(deadline + 0.001, margin_s)
    found: list[int] = []
    for _ in looks:
        world.beat(0.01, 0)
        found.append(world.num_looks)
    assert found == looks
    assert world.num_stats == 1


def test_a_starved_bot(world: World) -> None:
    world.starvation.begin(*NOW)
    # Counted from the first look on, minus a tick.
    for _ in range(10):
        world.beat(0.01, 0.0)
    assert world.waited_ms() == 80
    world.starvation.begin(*NOW)
    assert world.waited_ms() == 0
    for _ in range(5):
        world.beat(0.0, 0.0)
    assert world.waited_ms() == 0


@pytest.mark.parametrize(("ran_s", "expected"), [(0.0, 80.0), (0.004, 44.0), (0.0055, 30.5), (0.0065, 0.0)])
def test_a_bot_with_most_of_its_core_gains_nothing(world: World, ran_s: float, expected: float) -> None:
    world.starvation.begin(*NOW)
    for _ in range(10):
        world.beat(0.01, ran_s)
    assert world.waited_ms() == expected


def test_a_wait_is_no_longer_than_its_beat_less_what_the_bot_ran(world: World) -> None:
    world.starvation.begin(*NOW)
    world.beat(0.0, 0.0)
    world.beat(5.0, 0.004)
    world.beat(0.0, 0.0)
    world.beat(0.0, 0.0)
    assert world.waited_ms() == 6


@pytest.mark.parametrize(("clock_s", "ran_s"), [(0.005, 0.0), (0.0, 0.005)])
def test_the_larger_of_two_counts_of_its_cpu_holds(world: World, clock_s: float, ran_s: float) -> None:
    world.starvation.begin(*NOW)
    world.beat(0.0, 0.0)
    world.beat(0.01, ran_s, clock_s=clock_s)
    world.beat(0.0, 0.0)
    world.beat(0.0, 0.0)
    assert world.waited_ms() == 5


def test_threads_that_wait_for_each_other_gain_nothing(world: World) -> None:
    world.starvation.begin(*NOW)
    for _ in range(10):
        world.beat(0.005, 0.005, idle_s=0.005)
    assert world.waited_ms() == 0


def test_what_the_referee_uses_is_not_the_doing_of_others(world: World) -> None:
    world.starvation.begin(*NOW)
    for _ in range(10):
        world.own_s += 0.008
        world.beat(0.01, 0.0)
    # 90 ms since the first look, minus a tick, and 72 of the referee.
    assert world.waited_ms() == 8


def test_of_two_cores_an_idle_one_was_there_for_the_bot(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, 2)
    world.starvation.begin(*NOW)
    for _ in range(10):
        world.beat(0.01, 0.0)
    assert world.waited_ms() == 80
    world.idle_s[1] += 0.05
    assert world.waited_ms() == 30


def test_without_counts_of_the_cores_nothing_is_known(world: World) -> None:
    world.idle_s = {}
    world.starvation.begin(*NOW)
    for _ in range(10):
        world.beat(0.01, 0.0)
    assert world.waited_ms() == 0


def test_nothing_is_looked_for_at_first() -> None:
    watch = Starvation(os.getpid(), {0})
    watch.look(1e9, 0.0)
    assert watch.waited_s(0.0) == 0


# --- real bots


@contextmanager
def busy(core: int, number: int) -> Generator[None]:
    code = f"import os\nos.sched_setaffinity(0, {{{core}}})\nwhile True: pass"
    command = [sys.executable, "-I", "-S", "-c", code]
    # Each has a session of its own, because the kernel first divides a core among sessions.
    started = [subprocess.Popen(command, start_new_session=True) for _ in range(number)]  # noqa: S603
    try:
        # Until its interpreter has started, a process takes no time from the bot.
        while any(os.sched_getaffinity(each.pid) != {core} for each in started):
            time.sleep(0.005)
        yield
    finally:
        for each in started:
            each.kill()
            each.wait()


@pytest.fixture
def good() -> Iterator[HostedSeat]:
    seat = HostedSeat(
        ProcessSettings([sys.executable, "-I", "-S", HOSTILE, "good", "2"]), name="good", version="1"
    )
    yield seat
    seat.close()


def play(name: str, good: HostedSeat, core: int) -> MatchResult:
    command = [sys.executable, "-I", "-S", HOSTILE, name, "2"]
    return play_with(HostedSeat(ProcessSettings(command, cores={core}), name="bot", version="1"), good)


def play_with(bot: HostedSeat, good: HostedSeat) -> MatchResult:
    controls = (TimeControl(mode="move", move_ms=LIMIT_MS), TimeControl(mode="move", move_ms=20_000))
    setup = MatchSetup(id="m", labels=("A", "B"), seeds=(1, 2), controls=controls)
    result = play_match(GAME, (bot, good), setup)
    bot.close()
    return result


def queued_ms(result: MatchResult) -> float:
    assert result.fault is not None
    assert "time_move" in {result.termination, result.fault.get("verdict")}
    return float(str(result.fault["queued_ms"]))


def given_back_ms(result: MatchResult) -> float:
    return float(str((result.fault or {})["given_back_ms"]))


needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts waits")


TRIES = 5


def shown(play_one: Callable[[], MatchResult], is_seen: Callable[[MatchResult], bool]) -> MatchResult:
    """Return the first result that satisfies a condition, or the last of some tries.

    A virtual machine may lose a processor to its host for a moment: its kernel charges the process that runs,
    or the referee itself is late. A bot is then not seen to wait.
    """
    for _ in range(TRIES - 1):
        result = play_one()
        if is_seen(result):
            return result
    return play_one()


@needs_linux
def test_a_bot_that_others_starve_is_not_blamed(good: HostedSeat) -> None:
    # The bot computes until its time is nearly over; the referee, which sleeps, is on time itself.
    core = max(os.sched_getaffinity(0))

    def play_one() -> MatchResult:
        settings = ProcessSettings(wire_bot(SEARCH), cores={core})
        return play_with(HostedSeat(settings, name="bot", version="1"), good)

    with busy(core, 6):
        result = shown(play_one, lambda result: result.fault is None)
    assert (result.termination, result.fault) == ("rules", None)


@needs_linux
def test_a_bot_that_others_starve_and_that_never_answers_loses(good: HostedSeat) -> None:
    core = max(os.sched_getaffinity(0))

    def play_one() -> MatchResult:
        result = play("busy", good, core)
        assert result.termination == "time_move"
        assert given_back_ms(result) >= queued_ms(result)
        return result

    def late_ms(result: MatchResult) -> float:
        return float(str((result.fault or {})["overrun_ms"])) - 50 - given_back_ms(result)

    with busy(core, 4):
        result = shown(play_one, lambda result: queued_ms(result) > 25 and late_ms(result) < 100)
    assert queued_ms(result) > 25
    assert late_ms(result) < 100


@needs_linux
def test_a_bot_that_makes_itself_less_urgent_waits_of_its_own_will(good: HostedSeat) -> None:
    core = max(os.sched_getaffinity(0))
    with busy(core, 4):
        assert queued_ms(play("meek", good, core)) == 0


@needs_linux
@pytest.mark.parametrize("name", ["crowd", "crowd-in-bursts"])
def test_threads_that_crowd_each_other_out_prove_no_more_than_what_others_had(
    name: str, good: HostedSeat
) -> None:
    core = max(os.sched_getaffinity(0))
    began, idle = time.monotonic(), idle_s({core})[core]
    result = play(name, good, core)
    wall_ms = 1000 * (time.monotonic() - began)
    used_ms = float(str((result.fault or {})["cpu_ms"]))
    others_ms = max(0.0, wall_ms - 1000 * (idle_s({core})[core] - idle) - used_ms)
    # On a quiet machine nearly zero. Its start, and the good bot, take other time here.
    assert queued_ms(result) <= max(10.0, others_ms)

"""The number of nodes until a search reads the clock: by the speed of the machine, within the deadline."""

from __future__ import annotations

import numpy as np
import pytest

from arena.games.solver import _budget
from arena.games.solver._budget import LEAST, Meter
from arena.games.solver._counters import BUDGET, NODES


class Machine:
    """A machine that searches some nodes per second, with a simulated clock."""

    def __init__(self, pace: float) -> None:
        self.pace = pace
        self.now = 1000.0
        self.memory = np.zeros(8, np.int64)
        self.turns: list[int] = []

    def clock(self) -> float:
        return self.now

    def search(self) -> bool:
        turn = int(self.memory[BUDGET] - self.memory[NODES])
        self.turns.append(turn)
        self.memory[NODES] += turn
        self.now += turn / self.pace
        return False


@pytest.mark.parametrize("pace", [250_000, 2_000_000, 20_000_000])
@pytest.mark.parametrize("seconds", [0.002, 0.09, 0.9, 9.0])
def test_a_slow_machine_is_in_time_and_a_quick_one_uses_it(
    pace: float, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(pace)
    monkeypatch.setattr(_budget, "perf_counter", machine.clock)
    began = machine.now
    assert not Meter(machine.memory, float("inf"), seconds).run(machine.search, None)
    spent = machine.now - began
    assert seconds <= spent <= seconds + 1.5 * LEAST / pace


def test_a_machine_that_slows_down_to_a_half_is_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(4_000_000)
    monkeypatch.setattr(_budget, "perf_counter", machine.clock)
    began = machine.now

    def search() -> bool:
        machine.pace = 2_000_000 if machine.now > began + 0.03 else 4_000_000
        return machine.search()

    assert not Meter(machine.memory, float("inf"), 0.09).run(search, None)
    assert machine.now - began <= 0.092


def test_without_a_deadline_turns_are_long(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(1e6)
    monkeypatch.setattr(_budget, "perf_counter", machine.clock)
    assert not Meter(machine.memory, 3_000_000, float("inf")).run(machine.search, None)
    assert machine.turns[:2] == [1_000_000, 1_250_000]
    assert sum(machine.turns) == 3_000_000

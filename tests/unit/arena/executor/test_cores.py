from __future__ import annotations

import os
import secrets
import shlex
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import arena_plugins
from arena.entrants import resolve
from arena.executor.cores import Core, num_workers
from arena.executor.worker_seats import WarmSeats
from arena.referee.hosted import HostedSeat
from arena.referee.seats import SeatSetup
from arena.referee.timecontrol import TimeControl
from arena_plugins import load_game

if TYPE_CHECKING:
    from collections.abc import Iterator

SETTLE = """
import os, sys
from arena.executor.cores import Core
os.sched_setaffinity(0, set(map(int, sys.argv[2].split(","))))
core = Core(programs_roam=sys.argv[3] == "roam", family=sys.argv[1])
core.settle()
core.settle()
allowed = set(map(int, sys.argv[2].split(",")))
print(sorted(os.sched_getaffinity(0)), core.for_program() == allowed, flush=True)
sys.stdin.read()
"""
ALLOWED = sorted(os.sched_getaffinity(0))
FIRST = ALLOWED[:1]
PLUGINS = Path(arena_plugins.__file__).parent
GAME = load_game("tic-tac-toe")


class Family(ExitStack):
    """Processes that claim cores one after the other, and keep them until the object is closed."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def settle(self, cores: list[int], programs: str = "stay") -> str:
        """Start a process that may use these cores; return its report of its own cores and its programs'."""
        words = [sys.executable, "-c", SETTLE, self.name, ",".join(map(str, cores)), programs]
        process = self.enter_context(
            subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603 - our own code
        )
        self.callback(process.kill)
        assert process.stdout is not None
        return process.stdout.readline().strip()


@pytest.fixture
def family() -> Iterator[Family]:
    # A separate name, so that runs of this machine do not take part.
    with Family(f"test-{secrets.token_hex(8)}") as family:
        yield family


def test_each_core_gets_one_before_any_gets_two(family: Family) -> None:
    each = {f"[{core}] False" for core in ALLOWED}
    assert {family.settle(ALLOWED) for _ in ALLOWED} == each
    assert {family.settle(ALLOWED) for _ in ALLOWED} == each


def test_a_claim_ends_with_its_process(family: Family) -> None:
    with Family(family.name) as before:
        assert [before.settle(FIRST) for _ in range(2)] == [f"{FIRST} False"] * 2
    assert {family.settle(ALLOWED) for _ in ALLOWED} == {f"[{core}] False" for core in ALLOWED}


def test_programs_may_keep_all_cores(family: Family) -> None:
    assert family.settle(FIRST, "roam") == f"{FIRST} True"


@pytest.mark.parametrize(
    ("concurrency", "cores", "workers"),
    [(3, 2, 3), (1, 64, 1), (0, 4, 3), (-1, 4, 2), (-2, 4, 1), (-9, 4, 1), (0, 2, 1), (0, 1, 1), (-1, 1, 1)],
)
def test_a_machine_has_at_least_one_worker(concurrency: int, cores: int, workers: int) -> None:
    assert num_workers(concurrency, cores) == workers


class Settled(Core):
    """A core that was claimed long ago; this process stays on it."""

    def settle(self) -> None:
        self._allowed = frozenset(FIRST)


@pytest.mark.parametrize("roam", [True, False])
def test_only_bots_that_are_programs_roam(roam: bool) -> None:  # noqa: FBT001 - a case
    program = shlex.join([sys.executable, "hostile/__main__.py", "good", "1"])
    competitors = resolve(["random", f'exec:cmd="{program}",folder={PLUGINS}'], margin_ms=50)
    seats = WarmSeats(Settled(programs_roam=roam))
    control = TimeControl.parse(None, 30, None)
    cores: list[list[int]] = []
    for competitor in competitors:
        seat = seats.of(competitor, GAME.name, "T1")
        assert isinstance(seat, HostedSeat)
        assert seat.start(SeatSetup(match="m", game=GAME, player=0, seed=1, control=control)) is None
        cores.append(sorted(os.sched_getaffinity(seat.pid or 0)))
    seats.close()
    assert sorted(os.sched_getaffinity(0)) == ALLOWED
    assert cores == [ALLOWED, FIRST if roam else ALLOWED]

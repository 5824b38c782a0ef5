"""Which machines can take part in a run, and the messages about those that cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pytest

from arena.executor.cluster import run_link as roster_module
from arena.executor.cluster.facts import (
    WorkerFacts,
    arena_hash,
    find_lack,
    game_hashes,
    machine_id,
    median_speed,
    runs_code,
    time_scale,
    trainer_hashes,
    wanted_of,
    wanted_of_shards,
)
from arena.executor.cluster.hardware import arithmetic
from arena.executor.cluster.run_link import RefusedMachine, Roster
from arena.executor.slots import Slot

if TYPE_CHECKING:
    from pathlib import Path

WANTED = wanted_of("T2", "tic-tac-toe", "pin")
FACTS = WorkerFacts(
    name="pc1",
    slots=2,
    cores=4,
    memory=1 << 33,
    cpu="x",
    tiers=("T1", "T2"),
    arena=arena_hash(),
    version=WANTED.version,
    games=game_hashes(),
    runs=runs_code(),
    speed=1.0,
    trainers=trainer_hashes(),
    arithmetic=arithmetic(),
    gpus=("NVIDIA X",),
)
SHARDS = {device: wanted_of_shards("alphazero", "tic-tac-toe", device) for device in ("cpu", "cuda", "any")}


def other(**changes: object) -> WorkerFacts:
    return msgspec.structs.replace(FACTS, **changes)


def test_an_equal_machine_lacks_nothing() -> None:
    assert find_lack(FACTS, WANTED, 1.0) is None


@pytest.mark.parametrize(
    ("facts", "step", "words"),
    [
        (other(arena="0", version="0.0.9"), 0, "bot-arena 0.0.9, not "),
        (other(arena="0"), 0, f"bot-arena {WANTED.version}, other code"),
        (other(games={}), 1, "no game tic-tac-toe"),
        (other(games={"tic-tac-toe": "0"}), 1, "other code of game tic-tac-toe"),
        (other(tiers=("T1",)), 2, "tier T2 is not granted there; run arena doctor"),
        (other(runs="cpython-399 linux arm"), 3, "cpython-399 linux arm, but the bots are built for "),
        (other(speed=0.89), 7, "11% slower than the median; --speed scale or ignore"),
        (other(speed=1.11), 7, "11% faster than the median"),
    ],
)
def test_a_machine_that_differs_is_told_what_it_lacks(facts: WorkerFacts, step: int, words: str) -> None:
    lack = find_lack(facts, WANTED, 1.0)
    assert lack is not None
    assert lack.step == step
    assert words in lack.why


@pytest.mark.parametrize(
    ("facts", "device", "words"),
    [
        (FACTS, "cpu", None),
        (FACTS, "cuda", None),
        (other(tiers=(), speed=0.1), "cpu", None),
        (other(trainers={}), "cpu", "no trainer alphazero; install the same package there"),
        (other(trainers={"alphazero": "0"}), "any", "other code of trainer alphazero"),
        (other(gpus=()), "cuda", "no slot with a GPU; arena worker --gpu 0"),
        (other(gpus=()), "cpu", None),
        (other(gpus=()), "any", None),
        (
            other(arithmetic=arithmetic().replace("numpy ", "numpy 9")),
            "cpu",
            f"it computes differently (numpy 9{np.__version__}, not numpy {np.__version__}), so",
        ),
        (other(arithmetic=""), "cpu", "it computes differently ("),
        (other(arithmetic="another"), "cuda", None),
        (other(arithmetic="another"), "any", None),
    ],
)
def test_what_shards_need_of_a_machine(facts: WorkerFacts, device: str, words: str | None) -> None:
    lack = find_lack(facts, SHARDS[device], 0.0)
    if words is None:
        assert lack is None
    else:
        assert lack is not None
        assert words in lack.why


def test_only_slots_with_a_gpu_play_on_one() -> None:
    facts = other(slots=3, gpus=("NVIDIA X", "NVIDIA X"))
    slots = [Slot("a" * 32, number, "s") for number in range(3)]
    for device, eligible in (("cuda", slots[:2]), ("cpu", slots), ("any", slots)):
        roster = Roster(SHARDS[device])
        for slot in slots:
            roster.add(slot, facts)
        assert roster.eligible == eligible
        assert f"1 machine, {len(eligible)} slots" in roster.news()


def test_a_worker_of_an_older_version_still_says_what_it_is() -> None:
    old = msgspec.to_builtins(FACTS)
    for name in ("trainers", "arithmetic", "gpus"):
        del old[name]
    assert msgspec.convert(old, WorkerFacts) == other(trainers={}, arithmetic="", gpus=())


def test_speed_and_tier_count_only_where_they_are_asked_for() -> None:
    slow = other(speed=0.1, tiers=())
    assert find_lack(slow, wanted_of("T0", "tic-tac-toe", "ignore"), 1.0) is None
    assert find_lack(other(speed=0.91), WANTED, 1.0) is None
    assert find_lack(other(speed=1.09), WANTED, 1.0) is None
    assert find_lack(other(speed=0.0), WANTED, 0.0) is None, "nothing was measured"


@pytest.mark.parametrize(
    ("speed", "scale"),
    [(1.0, 1.0), (0.5, 2.0), (0.25, 4.0), (4.0, 0.25), (0.24, None), (4.1, None), (0.0, None)],
)
def test_seconds_are_scaled_by_the_reciprocal_of_the_speed_from_a_quarter_to_four(
    speed: float, scale: float | None
) -> None:
    assert time_scale(speed) == scale
    wanted = wanted_of("T2", "tic-tac-toe", "scale")
    lack = find_lack(other(speed=speed), wanted, 1.0)
    assert (lack is None) == (scale is not None)
    assert lack is None or "--speed ignore admits it" in lack.why


def test_the_median_is_that_of_machines_that_could_play() -> None:
    machines = [other(speed=speed) for speed in (1.0, 1.1, 5.0)]
    assert median_speed(machines, WANTED) == 1.1
    assert median_speed([*machines, other(speed=9.0, arena="0"), other(speed=9.0, arena="0")], WANTED) == 1.1
    assert median_speed([], WANTED) == 0.0


def test_a_machine_keeps_its_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARENA_HOME", str(tmp_path / "one"))
    first = machine_id()
    assert machine_id() == first
    monkeypatch.setenv("ARENA_HOME", str(tmp_path / "two"))
    assert machine_id() != first


def test_two_processes_that_start_together_get_one_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARENA_HOME", str(tmp_path))
    drawn: list[str] = []

    def draw(num: int) -> str:
        # While one process writes the file, it has no name yet, so another process never reads half of it.
        own = f"{len(drawn)}" * 2 * num
        drawn.append(own)
        if len(drawn) == 1:
            assert machine_id() == "11" * num
        return own

    monkeypatch.setattr("secrets.token_hex", draw)
    assert machine_id() == "11" * 16
    assert [path.name for path in tmp_path.glob("*machine*")] == ["machine"]


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Set the clock of rosters."""
    clock = [0.0]
    monkeypatch.setattr(roster_module.time, "monotonic", lambda: clock[0])
    return clock


ONE, TWO, SLOW = Slot("a" * 32, 0, "1"), Slot("b" * 32, 0, "1"), Slot("c" * 32, 0, "1")


def test_a_roster_takes_machines_as_they_come(now: list[float]) -> None:
    del now
    roster = Roster(WANTED)
    assert roster.add(ONE, FACTS) == []
    assert roster.add(TWO, other(name="pc2", speed=1.05)) == []
    (refused,) = roster.add(SLOW, other(name="pc3", speed=0.5))
    assert refused.machine == SLOW.machine
    assert "50% slower" in refused.why
    assert roster.eligible == [ONE, TWO]
    assert roster.news() == "2 machines, 4 slots, T2; speed pin: pc1 1.00, pc2 1.05 of the reference"
    assert roster.news().startswith("pc3 takes no part: 50% slower than the median")
    assert roster.news() == ""
    assert roster.name_of(TWO.machine) == "pc2"
    roster.remove(ONE)
    assert roster.eligible == [TWO]
    assert ONE not in roster


def test_speeds_are_compared_with_the_median_of_the_beginning(now: list[float]) -> None:
    del now
    roster = Roster(WANTED)
    roster.add(ONE, FACTS)
    roster.settle()
    for number in range(3):
        roster.add(Slot("d" * 32, number, "1"), other(speed=2.0))
        roster.add(Slot("e" * 32, number, "1"), other(speed=2.0))
    assert roster.eligible == [ONE]


def test_a_run_without_a_machine_names_the_nearest_one(now: list[float]) -> None:
    roster = Roster(WANTED)
    assert roster.news() == "", "machines may be about to join"
    now[0] = 4.0
    assert "no worker machine is connected, so the run waits; start arena worker" in roster.news()
    assert roster.news() == "", "it is said once"
    roster.add(ONE, other(games={}))
    roster.add(TWO, other(name="pc2", tiers=("T1",)))
    assert "the closest is pc2: tier T2 is not granted there" in roster.news()
    roster.add(SLOW, FACTS)
    assert roster.news().startswith("1 machine, 2 slots, T2")


def test_a_run_that_starts_its_slots_asks_nobody_for_a_machine(now: list[float]) -> None:
    roster = Roster(WANTED, starts_its_own=True)
    now[0] = 4.0
    assert roster.news() == "the slots of --cluster local:N are still starting, so the run waits"
    roster.add(ONE, other(games={}))
    assert roster.news().startswith("no machine can play this")


def test_a_machine_without_a_bot_is_refused_until_a_slot_joins_again(now: list[float]) -> None:
    del now
    roster = Roster(WANTED)
    roster.add(ONE, FACTS)
    assert roster.lacks_bot(ONE.machine, "there is no node") == [
        RefusedMachine(ONE.machine, "there is no node")
    ]
    assert roster.eligible == []
    assert roster.add(ONE._replace(start="2"), FACTS) == [RefusedMachine(ONE.machine, "")]
    assert len(roster.eligible) == 2

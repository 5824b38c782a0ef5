from __future__ import annotations

import os
import shlex
import signal
import sys
import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from arena.entrants import resolve
from arena.executor import preflight
from arena.executor.preflight import Candidate, run_preflights
from arena.referee.seats import Forfeit
from arena.referee.timecontrol import TimeControl
from arena_plugins import PluginError, Spec

if TYPE_CHECKING:
    from pathlib import Path

INIT_S = 2.0


def candidate(spec: str, tier: str = "T1", opening: tuple[int, ...] = (), init_s: float = 60.0) -> Candidate:
    return Candidate(
        competitor=resolve([spec], margin_ms=50)[0],
        game="tic-tac-toe",
        limit=TimeControl.parse(None, 30, None),
        tier=tier,
        init_s=init_s,
        opening=opening,
    )


def hanging(code: str, init_s: float = INIT_S) -> Candidate:
    """Return a program that does something else instead of starting."""
    command = shlex.join([sys.executable, "-I", "-S", "-c", code])
    return candidate(str(Spec("exec", {"cmd": command})), init_s=init_s)


@pytest.fixture(autouse=True)
def cores(monkeypatch: pytest.MonkeyPatch) -> None:
    # Programs that hang need no file.
    monkeypatch.setattr(preflight, "num_cores", lambda: 4)


@pytest.mark.parametrize(("num_workers", "tier"), [(4, "T1"), (1, "T1"), (4, "T0")])
def test_results_come_in_the_order_of_the_bots(num_workers: int, tier: str) -> None:
    bots = [
        candidate("random", tier),
        candidate("strange:broken=on", tier),
        candidate("random", tier, (4, 4)),
        candidate("random", tier, (4,)),
    ]
    first, broken, illegal, last = run_preflights(bots, num_workers)
    assert first is last is None
    assert isinstance(broken, Forfeit)
    assert "broken on purpose" in str(broken.detail["cause"])
    assert type(illegal).__name__ == "IllegalMoveError"


def test_several_are_tried_at_once(tmp_path: Path) -> None:
    meet = (
        f"import os, sys, time; open({str(tmp_path)!r} + f'/{{os.getpid()}}', 'w')\n"
        f"while len(os.listdir({str(tmp_path)!r})) < 3: time.sleep(0.01)\n"
        "sys.exit(7)"
    )
    faults = list(run_preflights([hanging(meet, init_s=60.0) for _ in range(3)], 3))
    assert [fault.detail["exit_code"] for fault in faults if isinstance(fault, Forfeit)] == [7] * 3


def passes(_: Candidate) -> None:
    """Check nothing."""


@pytest.mark.parametrize(
    ("num_workers", "cores", "num_bots", "expected"),
    [(4, 2, 5, 2), (2, 4, 5, 2), (9, 9, 3, 3), (4, 1, 5, 0), (1, 4, 5, 0), (4, 4, 2, 0)],
)
def test_no_more_at_once_than_there_are_cores(
    num_workers: int, cores: int, num_bots: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class MadeError(Exception):
        pass

    def make(size: int, _: Path) -> None:
        raise MadeError(size)

    monkeypatch.setattr(preflight, "num_cores", lambda: cores)
    monkeypatch.setattr(preflight, "LocalPool", make)
    monkeypatch.setattr(preflight, "_try", passes)
    bots = [candidate("random")] * num_bots
    if expected:
        with pytest.raises(MadeError) as made:
            list(run_preflights(bots, num_workers))
        assert made.value.args == (expected,)
    else:
        assert list(run_preflights(bots, num_workers)) == [None] * num_bots


def test_who_hears_enough_ends_the_others(tmp_path: Path) -> None:
    mark = tmp_path / "alive"
    code = f"import time\nwhile True: open({str(mark)!r}, 'w').close(); time.sleep(0.01)"
    bots = [candidate("strange:broken=on"), *[hanging(code) for _ in range(3)]]
    with closing(run_preflights(bots, 4)) as results:
        assert isinstance(next(results), Forfeit)
    mark.unlink(missing_ok=True)
    time.sleep(0.1)
    assert not mark.exists()


def test_after_the_death_of_a_worker_its_bot_alone_is_tried_again(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    # Its parent, or the parent of that, is the worker.
    note = (
        f"import os, sys, time; open({str(pids)!r}, 'a').write(str(os.getppid()) + chr(10))\n"
        f"while open({str(pids)!r}).read().count(chr(10)) < 4: time.sleep(0.01)\n"
        "sys.exit(7)"
    )
    bots = [hanging(note, init_s=60.0) for _ in range(3)]

    def kill() -> None:
        while not (pids.exists() and pids.read_text().count("\n") == 3):
            time.sleep(0.01)
        worker = int(pids.read_text().split()[0])
        while (parent := parent_of(worker)) != os.getpid():
            worker = parent
        os.kill(worker, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    faults = list(run_preflights(bots, 3))
    killer.join()
    assert [fault.detail["exit_code"] for fault in faults if isinstance(fault, Forfeit)] == [7] * 3
    parents = pids.read_text().split()
    assert len(parents) == 4
    assert str(os.getpid()) not in parents


def test_a_bot_that_kills_its_workers_ends_neither_the_others_nor_the_arena() -> None:
    murder = "import os, signal, time; os.kill(os.getppid(), signal.SIGKILL); time.sleep(99)"
    bots = [candidate("random"), hanging(murder, init_s=60.0), candidate("random")]
    first, killer, last = run_preflights(bots, 2)
    assert first is last is None
    assert isinstance(killer, PluginError)
    assert "two worker processes died while they tried it" in str(killer)


def parent_of(pid: int) -> int:
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:  # noqa: PTH123
        return int(file.read().rpartition(")")[2].split()[1])

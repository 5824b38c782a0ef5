"""The starter may die, and its bots are children of the process that it serves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from unittest.mock import Mock

import pytest

from arena.own_python import own_python
from arena.sandbox import starter
from arena.sandbox.family import members
from arena.sandbox.process import Process, spawn
from arena.sandbox.process_settings import ProcessSettings
from arena.sandbox.starter import _Starter  # pyright: ignore[reportPrivateUsage] - what dies in a test
from arena.sandbox.tier import Tier, tiers_to_try

PROCESS_TIERS = pytest.mark.parametrize("tier", sorted(tiers_to_try()))
ECHO = "import os\nwhile data := os.read(0, 100): os.write(1, data)"


def start(tier: Tier, script: str = ECHO) -> Process:
    process = spawn(ProcessSettings([sys.executable, "-I", "-S", "-c", script], tier))
    for fd in (process.stdout, process.stderr):
        os.set_blocking(fd, True)
    return process


def end(process: Process) -> None:
    process.kill()
    process.close()


def echo(process: Process, text: bytes) -> bytes:
    os.write(process.stdin, text)
    return os.read(process.stdout, 100)


def descriptors() -> set[str]:
    return {path.name for path in Path("/proc/self/fd").iterdir()}


def starter_pid() -> int:
    """Return the oldest child with the launcher's command line, as first processes of containers have too."""
    children = [pid for pid in members(os.getpid()) if pid != os.getpid()]
    launchers = [
        pid for pid in children if starter.LAUNCHER.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]
    return min(launchers, key=_began)


def _began(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


@PROCESS_TIERS
def test_bots_outlive_a_killed_starter_and_others_start(tier: Tier) -> None:
    before = start(tier)
    assert echo(before, b"one") == b"one"
    os.kill(starter_pid(), signal.SIGKILL)
    assert echo(before, b"two") == b"two"
    after = start(tier)
    assert echo(after, b"three") == b"three"
    assert os.waitid(os.P_PID, before.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    end(before)
    end(after)


@PROCESS_TIERS
def test_a_starter_that_dies_before_its_answer_leaves_no_second_bot(
    tier: Tier, monkeypatch: pytest.MonkeyPatch
) -> None:
    end(start(tier))
    asked: list[tuple[int, int]] = []
    request = _Starter.request

    def die_before_the_answer(self: _Starter, recipe: bytes, descriptors: list[int]) -> int:
        pid = request(self, recipe, descriptors)
        asked.append((pid, os.fstat(descriptors[0]).st_ino))
        if len(asked) == 1:
            os.kill(starter_pid(), signal.SIGKILL)
            raise ConnectionError("the starter of bots has ended")
        return pid

    monkeypatch.setattr(_Starter, "request", die_before_the_answer)
    process = start(tier)
    (first, its_pipe), (second, other_pipe) = asked
    assert (second, its_pipe != other_pipe) == (process.pid, True)
    # The starter ends by itself, because its pipes are closed.
    os.waitpid(first, 0)
    assert echo(process, b"x") == b"x"
    end(process)


def test_one_starter_serves_many_threads() -> None:
    # Bots die with the thread that made the starter, which is this one.
    end(start(Tier.T1))
    started: list[Process] = []

    def run() -> None:
        started.append(start(Tier.T1))

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    answers = {echo(process, str(process.pid).encode()) for process in started}
    assert answers == {str(process.pid).encode() for process in started}
    assert len(answers) == 8
    for process in started:
        end(process)


def test_a_start_that_fails_leaves_nothing_open(monkeypatch: pytest.MonkeyPatch) -> None:
    end(start(Tier.T1))
    before = descriptors()

    def refuse(*_: object) -> int:
        raise OSError(28, "no space")

    monkeypatch.setattr("arena.sandbox.starter._Starter.request", refuse)
    with pytest.raises(OSError, match="no space"):
        start(Tier.T1)
    assert descriptors() == before


def test_nothing_stays_open_after_bots_of_all_tiers() -> None:
    for tier in tiers_to_try():
        end(start(tier))
    before = descriptors()
    for tier in tiers_to_try():
        for _ in range(3):
            process = start(tier)
            assert echo(process, b"x") == b"x"
            end(process)
    assert descriptors() == before


def test_a_container_that_cannot_be_set_up_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [("from", "/nowhere"), ("to", "/nowhere")]
    monkeypatch.setattr("arena.sandbox.launch_recipe.container_entries", Mock(return_value=entries))
    process = spawn(ProcessSettings(["/bin/true"], Tier.T3))
    os.set_blocking(process.stderr, True)
    told = os.read(process.stderr, 1000).decode()
    exited = process.kill(5)
    process.close()
    assert "cannot run /bin/true: No such file or directory" in told
    assert exited.code == 127
    entries = [("from", "/usr/lib"), ("to", "/" + "x" * 300)]
    monkeypatch.setattr("arena.sandbox.launch_recipe.container_entries", Mock(return_value=entries))
    process = spawn(ProcessSettings(["/bin/true"], Tier.T3))
    os.set_blocking(process.stderr, True)
    told = os.read(process.stderr, 1000).decode()
    assert told.startswith("cannot start the bot in T3: ")
    assert process.kill(5).code == 127
    process.close()


ARENA = """
import os, sys
from arena.sandbox import starter
from arena.sandbox.process import spawn
from arena.sandbox.process_settings import ProcessSettings
from arena.sandbox.tier import Tier
process = spawn(ProcessSettings([sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"]))
print(starter._starters[0]._process.pid, flush=True)
os.kill(os.getpid(), 9)
"""


def test_the_starter_dies_with_its_process() -> None:
    done = subprocess.run(own_python("-c", ARENA), stdout=subprocess.PIPE, timeout=60, check=False)  # noqa: S603 - our own script
    status = Path("/proc", done.stdout.decode().strip(), "status")
    # It may disappear at any moment, also between two checks.
    with suppress(OSError):
        while "\nState:\tZ" not in status.read_text():
            pass
    assert done.returncode == -signal.SIGKILL


def test_a_fork_has_a_starter_of_its_own() -> None:
    end(start(Tier.T1))
    child = os.fork()
    if not child:
        code = 1
        try:
            process = start(Tier.T1)
            code = 0 if echo(process, b"child") == b"child" else 2
            end(process)
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    process = start(Tier.T1)
    assert echo(process, b"parent") == b"parent"
    end(process)


def test_all_of_a_container_but_the_scratch_folder_is_read_only() -> None:
    process = start(Tier.T3, "print(open('/proc/self/mountinfo').read(), flush=True)")
    lines = [line.split() for line in os.read(process.stdout, 1 << 16).decode().splitlines() if line]
    end(process)
    places = {words[4]: words[5].split(",") for words in lines}
    assert {"/", "/scratch"} <= places.keys()
    own = {"/scratch", "/proc"}
    assert [
        at for at, flags in places.items() if "ro" not in flags and at not in own and "/dev/" not in at
    ] == []
    assert "nosuid" in places["/scratch"]

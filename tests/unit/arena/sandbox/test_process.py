from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from arena.errors import ConfigError
from arena.sandbox.process import Process, spawn
from arena.sandbox.resources import Resources
from arena.sandbox.tier import Tier

REPORT = """
import json, os, resource
print(json.dumps({
    "environment": dict(os.environ), "cwd": os.getcwd(), "group": os.getpgid(0), "session": os.getsid(0),
    "descriptors": sorted(int(fd) for fd in os.listdir("/proc/self/fd"))[:-1],
    "limits": [resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[0]
               for name in ("AS", "FSIZE", "NOFILE", "CORE")],
}))
"""


def start(script: str, resources: Resources | None = None) -> Process:
    process = spawn([sys.executable, "-I", "-S", "-c", script], Tier.T1, resources)
    for fd in (process.stdout, process.stderr):
        os.set_blocking(fd, True)
    return process


def finish(process: Process) -> None:
    process.kill()
    process.close()


def test_the_child_sees_only_what_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "token")
    leak = os.open(os.devnull, os.O_RDONLY)
    os.set_inheritable(leak, True)  # noqa: FBT003 - the only way to call it
    process = start(REPORT, Resources(address_bytes=1 << 31, scratch_bytes=1000, open_files=50))
    seen: dict[str, Any] = json.loads(os.read(process.stdout, 1 << 16))
    home, cache = str(process.scratch.home), str(process.scratch.cache)
    finish(process)
    os.close(leak)

    environment = seen["environment"]
    assert "SECRET" not in environment
    assert environment["HOME"] == environment["TMPDIR"] == seen["cwd"] == home
    assert environment["NUMBA_CACHE_DIR"] == cache
    assert environment["OMP_NUM_THREADS"] == "1"
    assert environment["PYTHONHASHSEED"] == "0"
    assert seen["group"] == seen["session"] == process.pid
    assert seen["descriptors"] == [0, 1, 2]
    assert seen["limits"] == [1 << 31, 1000, 50, 0]


def test_limits_bite() -> None:
    process = start("bytearray(1 << 30)", Resources(address_bytes=1 << 28))
    with os.fdopen(os.dup(process.stderr), "rb") as stderr:
        assert b"MemoryError" in stderr.read()
    end = process.kill(5.0)
    process.close()
    assert end.code == 1


@pytest.mark.parametrize(
    ("script", "code", "number"),
    [
        ("raise SystemExit(3)", 3, None),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", None, signal.SIGSEGV),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", None, signal.SIGKILL),
    ],
)
def test_the_end_is_reported(script: str, code: int | None, number: int | None) -> None:
    process = start(script)
    end = process.kill(20.0)
    assert process.has_exited()
    assert process.kill() == end
    finish(process)
    assert (end.code, end.signal) == (code, number)


def test_a_system_without_waitid_still_gives_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    process = start("raise SystemExit(3)")
    assert os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT) is not None
    monkeypatch.delattr(os, "waitid")
    assert not process.has_exited()
    assert process.kill().code == 3
    finish(process)


def test_the_whole_group_is_killed() -> None:
    process = start("import os, time\nif os.fork(): print(os.getpid(), flush=True)\ntime.sleep(600)")
    os.read(process.stdout, 100)
    assert not process.has_exited()
    end = process.kill()
    # All that could write is gone, or this read would wait.
    while os.read(process.stdout, 1 << 16):
        pass
    finish(process)
    assert (end.code, end.signal) == (None, None)
    assert not process.scratch.root.exists()


def test_memory_is_measured() -> None:
    process = start("hoard = b'x' * (1 << 27); print(1, flush=True); import time; time.sleep(600)")
    os.read(process.stdout, 100)
    assert process.rss() >= 1 << 27
    assert process.kill().max_rss >= 1 << 27
    assert process.rss() == 0
    finish(process)


def test_t0_has_no_process() -> None:
    with pytest.raises(ConfigError, match="no processes"):
        spawn(["/bin/true"], Tier.T0)


def test_a_failed_start_leaves_no_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(ValueError, match="null byte"):
        spawn(["bot\0"], Tier.T1)
    assert list(tmp_path.iterdir()) == []


KILLED_ARENA = """
import os, sys
from arena.sandbox.process import spawn
from arena.sandbox.tier import Tier
BOT = "import time; print(1, flush=True); time.sleep(600)"
process = spawn([sys.executable, "-I", "-S", "-c", BOT], Tier.T1)
os.set_blocking(process.stdout, True)
os.read(process.stdout, 100)
print(process.pid, process.scratch.root, flush=True)
os.kill(os.getpid(), 9)
"""


def test_bots_die_with_the_arena() -> None:
    arena = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, "-c", KILLED_ARENA], stdout=subprocess.PIPE, timeout=60, check=False
    )
    pid, root = arena.stdout.decode().split()
    while Path("/proc", pid).exists() and "\nState:\tZ" not in Path("/proc", pid, "status").read_text():
        pass
    for folder in ("home", "cache", ""):
        Path(root, folder).rmdir()
    assert arena.returncode == -signal.SIGKILL

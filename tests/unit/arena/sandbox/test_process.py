from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from arena.errors import ConfigError
from arena.sandbox.family import members
from arena.sandbox.launch import seccomp
from arena.sandbox.process import Process, spawn
from arena.sandbox.process_settings import ProcessSettings
from arena.sandbox.resources import Resources
from arena.sandbox.tier import Tier, tiers_to_try

TIERS = pytest.mark.parametrize("tier", sorted(tiers_to_try()))

REPORT = """
import json, os, resource
def is_open(fd):
    try:
        return bool(os.fstat(fd))
    except OSError:
        return False
print(json.dumps({
    "environment": dict(os.environ), "cwd": os.getcwd(), "user": os.getuid(),
    "descriptors": [fd for fd in range(200) if is_open(fd)],
    "limits": [resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))
               for name in ("AS", "FSIZE", "NOFILE", "CORE")],
}))
"""


@pytest.fixture(autouse=True)
def polled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Test the arena's own checks, even if the kernel could enforce the limits."""
    monkeypatch.setattr("arena.sandbox.process.own_subtree", lambda: None)


TOUCH = """
import json, os
def attempt(call, *arguments):
    try:
        call(*arguments)
    except OSError as error:
        return error.errno
with open("/dev/full", "wb", buffering=0) as file:
    print(json.dumps([
        os.uname().nodename, attempt(os.utime, "/dev/full"), attempt(os.chmod, "/dev/full", 0o666),
        attempt(file.write, b"x"),
    ]))
"""


def start(script: str, resources: Resources | None = None, tier: Tier = Tier.T1) -> Process:
    process = spawn(
        ProcessSettings([sys.executable, "-I", "-S", "-c", script], tier, resources or Resources())
    )
    for fd in (process.stdout, process.stderr):
        os.set_blocking(fd, True)
    return process


def await_death(pid: str) -> None:
    """Wait until a process has ended; its new parent may not have reaped it."""
    with suppress(OSError):
        while "\nState:\tZ" not in Path("/proc", pid, "status").read_text():
            pass


def finish(process: Process) -> None:
    process.kill()
    process.close()


@TIERS
def test_the_child_sees_only_what_it_may(tier: Tier, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "token")
    leak = os.open(os.devnull, os.O_RDONLY)
    os.set_inheritable(leak, True)  # noqa: FBT003 - the only way to call it
    process = start(REPORT, Resources(address_bytes=1 << 31, scratch_bytes=1000, open_files=50), tier)
    seen: dict[str, Any] = json.loads(os.read(process.stdout, 1 << 16))
    home, cache = str(process.scratch.home), str(process.scratch.cache)
    if tier is Tier.T3:
        home, cache = "/scratch", "/scratch/.numba"
    assert os.getpgid(process.pid) == os.getsid(process.main_pid) == process.pid
    finish(process)
    os.close(leak)

    environment = seen["environment"]
    assert "SECRET" not in environment
    assert environment["HOME"] == environment["TMPDIR"] == seen["cwd"] == home
    assert environment["NUMBA_CACHE_DIR"] == cache
    assert environment["OMP_NUM_THREADS"] == "1"
    assert environment["PYTHONHASHSEED"] == "0"
    assert seen["user"] == (os.getuid() if process.user is None else process.user)
    assert seen["descriptors"] == [0, 1, 2]
    assert seen["limits"] == [[limit, limit] for limit in (1 << 31, 1000, 50, 0)], "it cannot raise them"


@pytest.mark.skipif(os.geteuid() != 0, reason="of root, who alone may add and remove groups")
@TIERS
def test_a_bot_of_root_is_in_no_group(tier: Tier) -> None:
    groups = os.getgroups()
    os.setgroups([*groups, 54321])
    try:
        process = start("import os; print(os.getgroups(), flush=True)", tier=tier)
    finally:
        os.setgroups(groups)
    seen = os.read(process.stdout, 100)
    assert seen == b"[]\n" or process.user is None, "without a user of its own it stays what the arena is"
    finish(process)


@pytest.mark.skipif(Tier.T3 not in tiers_to_try(), reason="of containers")
def test_a_container_has_a_network_of_its_own() -> None:
    process = start("print(open('/proc/self/net/dev').read(), flush=True)", tier=Tier.T3)
    with os.fdopen(os.dup(process.stdout)) as stdout:
        names = [line.partition(":")[0].strip() for line in stdout if ":" in line]
    finish(process)
    assert names == ["lo"]


def test_a_link_in_the_scratch_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    script = (
        f"import os; os.symlink({str(tmp_path / 'secret')!r}, 'link'); os.mkfifo('pipe'); open('own', 'x')"
    )
    process = start(script)
    process.kill(20.0)
    os.close(process.open_scratch("own"))
    for name in ("link", "pipe", "missing"):
        with pytest.raises(OSError, match=name):
            process.open_scratch(name)
    finish(process)


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
@TIERS
def test_the_end_is_reported(tier: Tier, script: str, code: int | None, number: int | None) -> None:
    process = start(script, tier=tier)
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


@TIERS
def test_nothing_is_left_of_a_killed_one(tier: Tier) -> None:
    process = start("import time; print(flush=True); time.sleep(600)", tier=tier)
    os.read(process.stdout, 100)
    main = process.main_pid
    assert (main != process.pid) == (tier is Tier.T3)
    os.killpg(process.pid, signal.SIGSTOP)
    assert process.kill()[:2] == (None, None)
    assert process.kill()[:2] == (None, None)
    finish(process)
    for pid in (main, process.pid):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_the_whole_group_is_killed() -> None:
    process = start("import os, time\nif os.fork(): print(os.getpid(), flush=True)\ntime.sleep(600)")
    os.read(process.stdout, 100)
    assert not process.has_exited()
    end = process.kill()
    # No process with the pipe is left, otherwise this read would block.
    while os.read(process.stdout, 1 << 16):
        pass
    finish(process)
    assert (end.code, end.signal) == (None, None)
    assert not process.scratch.root.exists()


def test_a_child_that_left_the_group_is_killed() -> None:
    daemon = "os.setsid(); os.fork() and os._exit(0); print(os.getpid(), flush=True)"
    process = start(f"import os, time\nif not os.fork(): {daemon}\ntime.sleep(600)")
    pid = os.read(process.stdout, 100).decode().strip()
    finish(process)
    await_death(pid)


def test_memory_of_children_counts() -> None:
    hoard = "hoard = b'x' * (1 << 26); print(1, flush=True); time.sleep(600)"
    process = start(f"import os, time\nos.fork()\n{hoard}")
    seen = b""
    while seen.count(b"1") < 2:
        seen += os.read(process.stdout, 100)
    assert process.usage().memory_bytes >= 1 << 27
    finish(process)


@TIERS
def test_memory_is_measured(tier: Tier) -> None:
    process = start("hoard = b'x' * (1 << 27); print(1, flush=True); import time; time.sleep(600)", tier=tier)
    os.read(process.stdout, 100)
    assert process.usage().memory_bytes >= 1 << 27
    assert process.kill().max_rss >= 1 << 27
    assert process.usage().memory_bytes == 0
    finish(process)


@TIERS
def test_threads_are_counted(tier: Tier) -> None:
    wait = (
        "import threading, time\nfor _ in range(9): threading.Thread(target=time.sleep, args=(600,)).start()"
    )
    process = start(f"{wait}\nprint(1, flush=True)", tier=tier)
    os.read(process.stdout, 100)
    assert process.usage().tasks == 10
    finish(process)
    assert process.usage().tasks == 0


def test_children_are_counted_as_far_as_need_be() -> None:
    fork = "import os, time\nfor _ in range(9): os.fork() or (os.write(1, b'1'), time.sleep(600))"
    process = start(f"{fork}\ntime.sleep(600)", Resources(tasks=4))
    seen = b""
    while len(seen) < 9:
        seen += os.read(process.stdout, 100)
    assert process.max_tasks == 4
    assert process.usage().tasks == 5
    crowd = process.kill().max_rss
    process.close()
    # Memory that children share with their parent is not counted for each child.
    assert crowd < 1 << 26


def test_t0_has_no_process() -> None:
    with pytest.raises(ConfigError, match="does not start processes"):
        spawn(ProcessSettings(["/bin/true"], Tier.T0))


def test_a_failed_start_leaves_no_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(ValueError, match="null byte"):
        spawn(ProcessSettings(["bot\0"], Tier.T1))
    assert list(tmp_path.iterdir()) == []


ADAPTER = """
import os
reader, writer = map(int, os.environ["ARENA_ENGINE_FDS"].split(","))
os.write(writer, b"question")
print(os.read(reader, 100).decode(), flush=True)
os.read(0, 1)
"""
ENGINE = """
import os
allowed = []
for path in ("/etc/passwd", os.environ["HOME"]):
    try:
        os.listdir(path) if os.path.isdir(path) else open(path)
        allowed.append(path)
    except OSError:
        pass
text = os.read(0, 100).decode()
print(text, len(allowed), "ARENA_ENGINE_FDS" in os.environ, flush=True)
os.read(0, 100)
"""


@TIERS
def test_an_engine_answers_from_a_sandbox_of_its_own(tier: Tier) -> None:
    python = [sys.executable, "-I", "-S", "-c"]
    process = spawn(ProcessSettings([*python, ADAPTER], tier, engine=[*python, ENGINE]))
    os.set_blocking(process.stdout, True)
    seen = os.read(process.stdout, 100).decode().strip()
    assert seen == f"question {2 if tier is Tier.T1 else 1} False"
    *_, adapter, engine = members(process.pid)
    finish(process)
    for pid in (adapter, engine):
        await_death(str(pid))


@pytest.mark.parametrize("procfs", [False, True])
def test_procfs_is_closed_unless_asked(procfs: bool) -> None:  # noqa: FBT001 - a parameter of the test
    tier = max(tier for tier in tiers_to_try() if tier <= Tier.T2)
    script = "import os\ntry: print(len(open('/proc/self/maps').read()) > 0)\nexcept OSError: print('closed')"
    process = start(script, Resources(procfs=procfs), tier)
    seen = os.read(process.stdout, 100)
    finish(process)
    assert seen == (b"True\n" if procfs or tier is Tier.T1 else b"closed\n")


def test_a_container_tells_neither_the_name_of_the_host_nor_lets_devices_be_changed() -> None:
    tier = max(tiers_to_try())
    has_changed = True
    # The device belongs to the machine: another program may change it at that moment, but not every time.
    for _ in range(4):
        before = Path("/dev/full").stat().st_mtime_ns
        process = start(TOUCH, tier=tier)
        seen = json.loads(os.read(process.stdout, 1000))
        finish(process)
        if tier is Tier.T3:
            assert seen == ["bot", errno.EROFS, errno.EROFS, errno.ENOSPC]
        has_changed = has_changed and Path("/dev/full").stat().st_mtime_ns != before
    assert not (tier is Tier.T3 and has_changed)


def test_a_tier_without_its_means_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seccomp, "ARCHITECTURES", {})
    with pytest.raises(ConfigError, match="tier T2 is not available on this system"):
        spawn(ProcessSettings(["/bin/true"], Tier.T2))


KILLED_ARENA = """
import os, sys
from arena.sandbox.process import spawn
from arena.sandbox.process_settings import ProcessSettings
from arena.sandbox.tier import Tier
BOT = "import time; print(1, flush=True); time.sleep(600)"
process = spawn(ProcessSettings([sys.executable, "-I", "-S", "-c", BOT], Tier(sys.argv[1])))
os.set_blocking(process.stdout, True)
os.read(process.stdout, 100)
print(process.main_pid, process.scratch.root, flush=True)
os.kill(os.getpid(), 9)
"""


@TIERS
def test_bots_die_with_the_arena(tier: Tier) -> None:
    arena = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, "-c", KILLED_ARENA, tier], stdout=subprocess.PIPE, timeout=60, check=False
    )
    pid, root = arena.stdout.decode().split()
    await_death(pid)
    for folder in ("home", "cache", ""):
        Path(root, folder).rmdir()
    assert arena.returncode == -signal.SIGKILL

"""Every module can be imported on macOS and Windows, and makes no system call while it is imported."""

from __future__ import annotations

import json
import sys

import pytest

from children import arena_environment, run_child
from source_tree import ROOT

ROOMS = ("arena/arena", "plugins/arena_plugins", "bots/arena_bots", "db/arena_db")
LINUX_ONLY = "arena.sandbox.launch"
"""Imports of the launcher of bots, which runs only on Linux; other modules must not need them."""
LACKING = {
    "darwin": {
        "modules": [],
        "os": ["pidfd_open", "sched_getaffinity", "sched_getscheduler", "sched_setaffinity", "waitid"],
        "signal": [],
        "select": ["epoll"],
        "time": ["clock_gettime_ns"],
    },
    "win32": {
        "modules": ["fcntl", "grp", "pwd", "resource", "termios", "tty", "curses"],
        "os": [
            *("chown", "fork", "geteuid", "getuid", "killpg", "mkfifo", "nice", "pidfd_open"),
            *("sched_getaffinity", "sched_setaffinity", "setsid", "uname", "waitid", "wait4"),
            *("O_NOFOLLOW", "O_DIRECTORY", "O_NONBLOCK", "O_CLOEXEC", "P_PID", "WEXITED", "WNOHANG"),
        ],
        "signal": ["SIGKILL", "SIGHUP", "SIGSTOP", "SIGCONT", "SIGUSR1", "pthread_sigmask"],
        "select": ["poll", "epoll"],
        "time": ["CLOCK_BOOTTIME", "clock_gettime"],
    },
}
"""What the Python of each system lacks, compared with this one."""
SCRIPT = """
import ctypes, importlib, json, os, select, signal, sys, time
names, systems = json.loads(sys.argv[1])
# Libraries are imported as what this system has: they are not the question.
for name in names:
    importlib.import_module(name)
own = {name.partition(".")[0] for name in names}
for name in [name for name in sys.modules if name.partition(".")[0] in own]:
    del sys.modules[name]

def refuse(*_, **__):
    raise AssertionError("a module asks the system while it is imported")

# Each system gets a process; all share the libraries, which take most of the time.
for platform, lacking in systems.items():
    pid = os.fork()
    if pid == 0:
        break
    assert os.waitpid(pid, 0)[1] == 0
else:
    sys.exit()

ctypes.CDLL = ctypes.cdll.LoadLibrary = refuse
sys.platform = platform
for name in lacking.pop("modules"):
    sys.modules[name] = None
for module, attributes in lacking.items():
    for attribute in attributes:
        if hasattr(sys.modules[module], attribute):
            delattr(sys.modules[module], attribute)
failed = {}
for name in names:
    try:
        importlib.import_module(name)
    except BaseException as error:
        failed[name] = f"{type(error).__name__}: {error}"
linux_only = sorted(name for name in sys.modules if name.startswith("arena.sandbox.launch."))
print(json.dumps([platform, failed, linux_only]), flush=True)
# Without the usual end: the threads that libraries would wait for are those of the process before the fork.
os._exit(0)
"""


def modules() -> list[str]:
    """Return all modules of the packages that other systems load."""
    found: list[str] = []
    for room in ROOMS:
        base = (ROOT / room).parent
        for path in sorted((ROOT / room).rglob("*.py")):
            parts = path.relative_to(base).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            if not name.startswith(LINUX_ONLY) and parts[-1] != "__main__":
                found.append(name)
    return found


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[dict[str, str], list[str]]]:
    """Return for each system the modules that could not be imported, and those that only Linux needs."""
    folder, names = tmp_path_factory.mktemp("elsewhere"), modules()
    assert len(names) > 200
    command = [sys.executable, "-c", SCRIPT, json.dumps([names, LACKING])]
    done = run_child(command, cwd=folder, env=arena_environment(folder), deadline=300)
    lines = (json.loads(line) for line in done.stdout.splitlines() if line.startswith("["))
    return {platform: (failed, linux_only) for platform, failed, linux_only in lines}


@pytest.mark.parametrize("platform", sorted(LACKING))
def test_every_module_can_be_imported(
    platform: str, imported: dict[str, tuple[dict[str, str], list[str]]]
) -> None:
    failed, linux_only = imported[platform]
    assert failed == {}
    # These define tables and names, and make no system calls.
    assert set(linux_only) <= {"arena.sandbox.launch.calls", "arena.sandbox.launch.container_paths"}

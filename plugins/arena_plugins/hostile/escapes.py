"""Bots that try to escape the sandbox. All play on; a successful one sends a remark starting with WORKED."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from arena_plugins.hostile.talk import FOREVER_S, Message, act, remark

if TYPE_CHECKING:
    from collections.abc import Callable

WORKED = "WORKED"
"""The first word of a bot's remark after a successful attack."""
_CANARIES = "canaries="
"""Prefix of the argument that names the targets: `KEY:VALUE,…`."""
_MANY_PROCESSES, _MANY_THREADS = 2_000, 20_000
"""Numbers large enough that creating them takes long enough for the arena to notice."""
_LOOK_S = 0.3
"""Seconds in which the arena inspects a bot several times."""
_KEY_DIGITS = 7
"""Hex digits of a mark that fit into the key of a shared memory segment, a signed 32-bit integer."""
_PTRACE_ATTACH, _PTRACE_DETACH = 16, 17


def read_canaries(arguments: list[str]) -> None:
    """Read the targets of the attacks from the program's arguments."""
    for argument in arguments:
        if argument.startswith(_CANARIES):
            for pair in argument.removeprefix(_CANARIES).split(","):
                key, _, value = pair.partition(":")
                _canaries[key] = value


_canaries: dict[str, str] = {}


def _attempt(attack: Callable[[], str]) -> Callable[[Message], None]:
    """Return a behaviour that runs an attack, reports what it obtained, and plays on."""

    def behave(go: Message) -> None:
        with suppress(OSError, KeyError, RuntimeError):
            if got := attack():
                remark(go, f"{WORKED}: {got}"[:200])
        act(go)

    return behave


def _fork_bomb() -> str:
    num_children = 0
    for _ in range(_MANY_PROCESSES):
        if os.fork() == 0:
            time.sleep(FOREVER_S)
        num_children += 1
    return f"{num_children} children"


def _thread_bomb() -> str:
    # With the default stack size the limit on address space would be reached before the limit on threads.
    threading.stack_size(1 << 16)
    for _ in range(_MANY_THREADS):
        threading.Thread(target=time.sleep, args=(FOREVER_S,), daemon=True).start()
    return f"{_MANY_THREADS} threads"


def _daemon() -> str:
    if os.fork():
        return "a daemon"
    os.setsid()
    if os.fork():
        os._exit(0)
    os.environ.clear()
    time.sleep(FOREVER_S)
    os._exit(0)


def _until_killed(fill: Callable[[], None]) -> Callable[[], str]:
    """Return an attack that obtains its resource and then waits to be killed."""

    def attack() -> str:
        fill()
        time.sleep(FOREVER_S)
        return "more of the disk than allowed"

    return attack


def _fill_disk() -> None:
    for number in range(10):
        Path(f"big-{number}").write_bytes(b"x" * (30 << 20))


def _many_files() -> None:
    for number in range(20_000):
        Path(f"file-{number}").touch()


def _deep_folders() -> None:
    for _ in range(5_000):
        Path("deep").mkdir()
        os.chdir("deep")


def _nested_folders() -> str:
    for _ in range(1_500):
        Path("deep").mkdir()
        os.chdir("deep")
    # Leaves the arena time to inspect the folder.
    time.sleep(_LOOK_S)
    return ""


def _link_swap() -> str:
    """Keep swapping a folder with a link to a foreign folder.

    A process that changes the mode of the folder by its name, or removes it by name, then hits the link.
    """
    Path("folder").mkdir()
    Path("folder", "file").touch()
    Path("link").symlink_to(_canaries["folder"])

    def swap() -> None:
        while True:
            with suppress(OSError):
                for old, new in (("folder", "held"), ("link", "folder"), ("held", "link")):
                    os.rename(old, new)  # noqa: PTH104 - it must be fast

    threading.Thread(target=swap, daemon=True).start()
    time.sleep(_LOOK_S)
    return ""


def _sysv_segment() -> str:
    key, create = int(_canaries["mark"][:_KEY_DIGITS], 16), 0o1000
    ctypes.CDLL(None).shmget(key, 4096, create | 0o666)
    return ""


def _posix_queue() -> str:
    name = f"/{_canaries['mark']}".encode()
    opener = getattr(ctypes.CDLL(None), "mq_open", None)
    if opener is not None:
        opener(name, os.O_RDWR | os.O_CREAT, 0o666, None)
    return ""


def _shm_file() -> str:
    Path("/dev/shm", _canaries["mark"]).write_bytes(b"x" * 4096)  # noqa: S108 - as a bot would
    return ""


def _mount() -> str:
    mark = _canaries["mark"].encode()
    return "mounted" if ctypes.CDLL(None).mount(mark, b".", b"tmpfs", 0, None) == 0 else ""


def _large_file() -> str:
    piece = b"x" * (1 << 20)
    with Path("big").open("wb", buffering=0) as file:
        file.writelines(piece for _ in range(1 << 8))
    return "a file of 256 MiB"


def _many_descriptors() -> str:
    for _ in range(5_000):
        os.dup(0)
    return "5000 descriptors"


def _network() -> str:
    address = ("127.0.0.1", int(_canaries["port"]))
    with suppress(OSError), socket.socket() as stream:
        stream.settimeout(1.0)
        stream.connect(address)
        return "TCP"
    with suppress(OSError), socket.socket(type=socket.SOCK_DGRAM) as datagram:
        datagram.sendto(b"x", address)
        return "UDP"
    with suppress(OSError), socket.socket(socket.AF_UNIX) as local:
        local.connect("\0" + _canaries["abstract"])
        return "abstract socket"
    return ""


def _read(key: str) -> Callable[[], str]:
    return lambda: Path(_canaries[key]).read_text(encoding="utf-8")


def _write_store() -> str:
    with Path(_canaries["store"]).open("a", encoding="utf-8") as file:
        file.write("forged")
    return "wrote"


def _procfs() -> str:
    environment = Path(f"/proc/{_canaries['pid']}/environ").read_bytes()
    return "environ" if b"ARENA_SECRET" in environment else ""


def _ptrace() -> str:
    libc, pid = ctypes.CDLL(None, use_errno=True), int(_canaries["pid"])
    if libc.ptrace(_PTRACE_ATTACH, pid, None, None):
        return ""
    os.waitpid(pid, 0x40000000)  # the flag __WALL, which `os` does not define
    libc.ptrace(_PTRACE_DETACH, pid, None, None)
    return "attached"


def _signal() -> str:
    # SIGURG is ignored by default: if the attack works, only the canary, which waits for it, notices.
    os.kill(int(_canaries["pid"]), signal.SIGURG)
    return ""


def _signal_all() -> str:
    os.kill(-1, signal.SIGURG)
    return ""


def _child_answers(go: Message) -> None:
    try:
        child = os.fork()
    except OSError:
        act(go)
        return
    if child == 0:
        remark(go, f"{WORKED}: a child answers")
        act(go)
        time.sleep(FOREVER_S)


BEHAVIOURS: dict[str, Callable[[Message], None]] = {
    "fork-bomb": _attempt(_fork_bomb),
    "thread-bomb": _attempt(_thread_bomb),
    "daemon": _attempt(_daemon),
    "disk": _attempt(_until_killed(_fill_disk)),
    "large-file": _attempt(_large_file),
    "inodes": _attempt(_until_killed(_many_files)),
    "deep-folders": _attempt(_until_killed(_deep_folders)),
    "nested-folders": _attempt(_nested_folders),
    "link-swap": _attempt(_link_swap),
    "descriptors": _attempt(_many_descriptors),
    "sysv-segment": _attempt(_sysv_segment),
    "posix-queue": _attempt(_posix_queue),
    "shm-file": _attempt(_shm_file),
    "mount": _attempt(_mount),
    "network": _attempt(_network),
    "read-store": _attempt(_read("store")),
    "write-store": _attempt(_write_store),
    "read-weights": _attempt(_read("weights")),
    "procfs": _attempt(_procfs),
    "ptrace": _attempt(_ptrace),
    "signal-others": _attempt(_signal),
    "signal-all": _attempt(_signal_all),
    "child-answers": _child_answers,
}

"""What a hostile bot would try, run as a bot is: `python -I -S -B attacks.py TARGETS`.

It prints one JSON object per attack, with what it believes it got. Whether the attack worked is not for it to
say: `arena.sandbox.canaries` looks at what was attacked.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = {
    0: "write to the scratch folder (control: must work)",
    1: "read the store",
    2: "append to the store",
    3: "list the store's folder",
    4: "read the password file",
    5: "write outside the scratch folder",
    6: "connect by TCP",
    7: "send by UDP",
    8: "connect to an abstract socket",
    9: "kill the arena and the opponent",
    10: "read the arena's memory in /proc",
    11: "read the arena's environment in /proc",
    12: "process_vm_readv the arena",
    13: "ptrace the arena",
    14: "run a program",
    15: "allocate beyond the limit",
    16: "fork 300 times",
    17: "write a file beyond the limit",
    18: "change the arena's limits, the opponent's priority",
}
"""By number; 1 to 17 as in docs/reference/protocol.md."""

NUM_FORKS = 300
_PTRACE_PEEKDATA, _PTRACE_ATTACH, _PTRACE_DETACH = 2, 16, 17
_WALL = 0x40000000
_WORD = 8
_READ_BYTES = 4096


class Targets(TypedDict):
    """What is attacked."""

    store: str
    """A file with a secret."""
    folder: str
    """The folder it lies in."""
    passwords: str
    outside: str
    """A file that does not exist."""
    tcp: int
    udp: int
    """Ports on the loopback device."""
    abstract: str
    """The name of an abstract socket, without the leading NUL."""
    arena: int
    opponent: int
    """Processes."""
    address: int
    """Where the arena's process has a secret."""
    size: int
    """The length of that secret, in bytes."""
    address_bytes: int
    scratch_bytes: int
    """The limits."""
    text: str
    """What to write and send."""


HOME = Path(os.environ.get("HOME", os.curdir))
"""The scratch folder."""


def control(targets: Targets) -> object:
    """Do what is allowed."""
    (HOME / "control").write_text(targets["text"], encoding="ascii")
    return None


def read_store(targets: Targets) -> object:
    """Give what is in the store."""
    return Path(targets["store"]).read_text(encoding="utf-8")


def append_to_store(targets: Targets) -> object:
    """Spoil the store."""
    with Path(targets["store"]).open("a", encoding="ascii") as file:
        file.write(targets["text"])
    return None


def list_folder(targets: Targets) -> object:
    """Give the names in the store's folder."""
    return os.listdir(targets["folder"])  # noqa: PTH208 - names are wanted


def read_passwords(targets: Targets) -> object:
    """Give the first line of the password file."""
    with Path(targets["passwords"]).open(encoding="utf-8") as file:
        return file.readline()


def write_outside(targets: Targets) -> object:
    """Make a file elsewhere."""
    Path(targets["outside"]).write_text(targets["text"], encoding="ascii")
    return None


def connect_tcp(targets: Targets) -> object:
    """Connect to a port."""
    with socket.create_connection(("127.0.0.1", targets["tcp"]), 1.0) as channel:
        channel.sendall(targets["text"].encode())
    return None


def send_udp(targets: Targets) -> object:
    """Send a datagram."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
        channel.sendto(targets["text"].encode(), ("127.0.0.1", targets["udp"]))
    return None


def connect_abstract(targets: Targets) -> object:
    """Connect to a socket that no file stands for."""
    with socket.socket(socket.AF_UNIX) as channel:
        channel.connect(b"\0" + targets["abstract"].encode())
        channel.sendall(targets["text"].encode())
    return None


def kill_others(targets: Targets) -> object:
    """Kill two processes."""
    for pid in (targets["arena"], targets["opponent"]):
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    return None


def read_mem(targets: Targets) -> object:
    """Give a process's secret, read through /proc."""
    with Path(f"/proc/{targets['arena']}/mem").open("rb", buffering=0) as memory:
        memory.seek(targets["address"])
        return memory.read(targets["size"]).decode()


def read_environ(targets: Targets) -> object:
    """Give a process's environment."""
    return Path(f"/proc/{targets['arena']}/environ").read_text(encoding="utf-8", errors="replace")


class _Span(ctypes.Structure):
    _fields_ = (("start", ctypes.c_void_p), ("size", ctypes.c_size_t))


def read_by_call(targets: Targets) -> object:
    """Give a process's secret, read by the system call for it."""
    size = targets["size"]
    buffer = ctypes.create_string_buffer(size)
    here, there = _Span(ctypes.addressof(buffer), size), _Span(targets["address"], size)
    one = ctypes.c_ulong(1)
    spans = (ctypes.byref(here), one, ctypes.byref(there), one)
    ctypes.CDLL(None).process_vm_readv(targets["arena"], *spans, ctypes.c_ulong(0))
    return buffer.raw.decode()


def trace(targets: Targets) -> object:
    """Give the first word of a process's secret, read as a debugger does."""
    ptrace = ctypes.CDLL(None).ptrace
    ptrace.restype = ctypes.c_long
    ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    pid = targets["arena"]
    if ptrace(_PTRACE_ATTACH, pid, None, None) != 0:
        return None
    os.waitpid(pid, _WALL)
    word = ptrace(_PTRACE_PEEKDATA, pid, targets["address"], None)
    ptrace(_PTRACE_DETACH, pid, None, None)
    return (word % (1 << 8 * _WORD)).to_bytes(_WORD, sys.byteorder).decode()


def run_program(_: Targets) -> object:
    """Let a shell make a file in the scratch folder."""
    shell = "/bin/sh"
    script = 'echo > "$0"'
    os.waitpid(os.posix_spawn(shell, [shell, "-c", script, str(HOME / "ran")], {}), 0)
    return None


def allocate(targets: Targets) -> object:
    """Give the size of a block of memory as large as the limit for all."""
    with mmap.mmap(-1, targets["address_bytes"]) as block:
        block[-1] = 1
        return len(block)


def fork_often(_: Targets) -> object:
    """Let each of many children, all alive at once, add a byte to a file."""
    wait, release = os.pipe()
    tally = os.open(HOME / "forks", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    children: list[int] = []
    with suppress(OSError):
        for _number in range(NUM_FORKS):
            child = os.fork()
            if not child:
                os.close(release)
                os.write(tally, b"x")
                os.read(wait, 1)
                os._exit(0)
            children.append(child)
    os.close(release)
    for child in children:
        os.waitpid(child, 0)
    return None


def write_much(targets: Targets) -> object:
    """Write past the largest size of a file."""
    with (HOME / "large").open("wb", buffering=0) as file:
        file.seek(targets["scratch_bytes"])
        file.write(b"x")
    return None


def change_others(targets: Targets) -> object:
    """Take file descriptors from one process and processor time from another."""
    import resource  # not on every system this module is imported on

    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, targets["opponent"], 19)
    resource.prlimit(targets["arena"], resource.RLIMIT_NOFILE, (64, 64))
    return None


ATTACKS: dict[int, Callable[[Targets], object]] = {
    0: control, 1: read_store, 2: append_to_store, 3: list_folder, 4: read_passwords, 5: write_outside,
    6: connect_tcp, 7: send_udp, 8: connect_abstract, 10: read_mem, 11: read_environ, 12: read_by_call,
    13: trace, 14: run_program, 15: allocate, 16: fork_often, 17: write_much, 18: change_others,
    9: kill_others,  # last, since the others need them alive
}  # fmt: skip


def main(text: str) -> None:
    """Try everything, whatever each attempt does."""
    targets: Targets = json.loads(text)
    for number, attack in ATTACKS.items():
        got = error = None
        try:
            got = attack(targets)
        except Exception as failure:  # noqa: BLE001 - of whatever kind, the attempt was made
            error = f"{type(failure).__name__}: {failure}"
        sys.stdout.write(json.dumps({"attack": number, "got": got, "error": error}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])

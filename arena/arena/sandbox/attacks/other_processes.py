"""Attacks on other processes, and attacks by starting new ones."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from arena.sandbox.attacks.control import HOME
from arena.sandbox.attacks.syscalls import syscall

if TYPE_CHECKING:
    from arena.sandbox.attacks.targets import Targets

NUM_FORKS = 300
_PTRACE_PEEKDATA, _PTRACE_ATTACH, _PTRACE_DETACH = 2, 16, 17
_WALL = 0x40000000
_WORD = 8
_PROCESS_CLOCK = 2
"""CPUCLOCK_SCHED, the lowest bits of the id of a process's CPU clock: scheduler time of all threads."""


class _Span(ctypes.Structure):
    _fields_ = (("start", ctypes.c_void_p), ("size", ctypes.c_size_t))


def attack_kill(targets: Targets) -> object:
    """Kill the arena's process and the opponent."""
    for pid in (targets["arena"], targets["opponent"]):
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    return None


def attack_memory(targets: Targets) -> object:
    """Read a process's secret through /proc/PID/mem."""
    with Path(f"/proc/{targets['arena']}/mem").open("rb", buffering=0) as memory:
        memory.seek(targets["address"])
        return memory.read(targets["size"]).decode()


def attack_environment(targets: Targets) -> object:
    """Read a process's environment through /proc."""
    return Path(f"/proc/{targets['arena']}/environ").read_text(encoding="utf-8", errors="replace")


def attack_readv(targets: Targets) -> object:
    """Read a process's secret with process_vm_readv."""
    size = targets["size"]
    buffer = ctypes.create_string_buffer(size)
    here, there = _Span(ctypes.addressof(buffer), size), _Span(targets["address"], size)
    one = ctypes.c_ulong(1)
    spans = (ctypes.byref(here), one, ctypes.byref(there), one)
    syscall("process_vm_readv", targets["arena"], *spans, ctypes.c_ulong(0))
    return buffer.raw.decode()


def attack_trace(targets: Targets) -> object:
    """Read the first word of a process's secret with ptrace, as a debugger does."""
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


def attack_run(_: Targets) -> object:
    """Run a shell that creates a file in the scratch folder."""
    shell = "/bin/sh"
    script = 'echo > "$0"'
    os.waitpid(os.posix_spawn(shell, [shell, "-c", script, str(HOME / "ran")], {}), 0)
    return None


def attack_fork(_: Targets) -> object:
    """Start many children that are alive at the same time; each appends one byte to a file."""
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


def attack_limits(targets: Targets) -> object:
    """Lower one process's limit on file descriptors and another one's priority."""
    import resource  # missing on some systems on which this module is imported

    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, targets["opponent"], 19)
    resource.prlimit(targets["arena"], resource.RLIMIT_NOFILE, (64, 64))
    return None


def attack_clock(targets: Targets) -> object:
    """Return the nanoseconds of CPU time that another process has used."""
    return time.clock_gettime_ns(~targets["arena"] << 3 | _PROCESS_CLOCK)

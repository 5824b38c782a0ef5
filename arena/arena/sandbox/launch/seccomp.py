"""Seccomp: a filter that refuses sockets, new processes and every call that reaches into another process.

Layouts: linux/seccomp.h, linux/filter.h; numbers: the tables of each architecture in the kernel's source.
"""

from __future__ import annotations

import ctypes
import errno
from typing import NamedTuple

from arena.sandbox.launch.kernel import prctl

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
"""Instructions of classic BPF, each with its constant operand."""
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
"""Offsets in `struct seccomp_data`; the low half of an argument comes first on both architectures."""
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
_CLONE_THREAD = 0x00010000
_X32 = 0x40000000


class _Architecture(NamedTuple):
    audit: int
    """Its AUDIT_ARCH."""
    calls: dict[str, int]


_X86_64 = _Architecture(
    0xC000003E,
    {
        "socket": 41, "clone": 56, "fork": 57, "vfork": 58, "ptrace": 101, "setpgid": 109, "setsid": 112,
        "setpriority": 141, "sched_setparam": 142, "sched_setscheduler": 144, "mount": 165,
        "sched_setaffinity": 203, "add_key": 248, "request_key": 249, "keyctl": 250, "ioprio_set": 251,
        "unshare": 272, "perf_event_open": 298, "prlimit64": 302, "setns": 308, "process_vm_readv": 310,
        "process_vm_writev": 311, "sched_setattr": 314, "bpf": 321, "userfaultfd": 323,
        "io_uring_setup": 425, "clone3": 435, "pidfd_getfd": 438,
    },
)  # fmt: skip
_AARCH64 = _Architecture(
    0xC00000B7,
    {
        "ioprio_set": 30, "mount": 40, "unshare": 97, "ptrace": 117, "sched_setparam": 118,
        "sched_setscheduler": 119, "sched_setaffinity": 122, "setpriority": 140, "setpgid": 154,
        "setsid": 157, "socket": 198, "add_key": 217, "request_key": 218, "keyctl": 219, "clone": 220,
        "perf_event_open": 241, "prlimit64": 261, "setns": 268, "process_vm_readv": 270,
        "process_vm_writev": 271, "sched_setattr": 274, "bpf": 280, "userfaultfd": 282,
        "io_uring_setup": 425, "clone3": 435, "pidfd_getfd": 438,
    },
)  # fmt: skip
ARCHITECTURES = {"x86_64": _X86_64, "aarch64": _AARCH64, "arm64": _AARCH64}
"""By `os.uname().machine`."""

_REFUSED = (
    *("ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd"),
    *("bpf", "perf_event_open", "userfaultfd", "io_uring_setup"),
    *("keyctl", "add_key", "request_key", "mount", "unshare", "setns"),
    *("fork", "vfork", "ioprio_set"),
    # Who leaves the process group is not stopped with it.
    *("setpgid", "setsid"),
)
_OWN_ONLY = ("prlimit64", "sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler")
"""Their first argument is a process. Landlock lets them reach every process of the same user: a bot could end
the arena by its processor limit, or send its opponent to the back of the queue."""

_Line = tuple[int, int, int, int]
"""Code, jump if true, jump if false, operand."""


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("if_true", ctypes.c_uint8),
        ("if_false", ctypes.c_uint8),
        ("operand", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("lines", ctypes.POINTER(_Instruction)))


def program(machine: str) -> list[tuple[int, int, int, int]]:
    """Give the filter for an architecture: code, jump if true, jump if false, operand of each line.

    Raises:
        KeyError: it is none of `ARCHITECTURES`.
    """
    audit, calls = ARCHITECTURES[machine]
    lines: list[_Line] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, audit),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if audit == _X86_64.audit:
        lines += [(_AT_LEAST, 0, 1, _X32), _fail(errno.EPERM)]
    for name in filter(calls.__contains__, _REFUSED):
        lines += _on(calls[name], [_fail(errno.EPERM)])
    lines += _on(calls["socket"], [_fail(errno.EAFNOSUPPORT)])
    # The C library then falls back on clone, whose flags can be seen.
    lines += _on(calls["clone3"], [_fail(errno.ENOSYS)])
    lines += _on(calls["clone"], [_load(0), (_ANY_BIT, 1, 0, _CLONE_THREAD), _fail(errno.EPERM), _pass()])
    for name in _OWN_ONLY:
        lines += _on(calls[name], [_load(0), (_EQUAL, 1, 0, 0), _fail(errno.EPERM), _pass()])
    lines += _on(
        calls["setpriority"],
        [_load(0), (_EQUAL, 0, 2, 0), _load(1), (_EQUAL, 1, 0, 0), _fail(errno.EPERM), _pass()],
    )
    return [*lines, _pass()]


def restrict(machine: str) -> None:
    """Put this process, which must have given up new privileges, under the filter for good.

    Raises:
        OSError: the kernel refused.
    """
    lines = [_Instruction(*line) for line in program(machine)]
    block = (_Instruction * len(lines))(*lines)
    filter_program = _Program(len(lines), block)
    prctl("seccomp", _PR_SET_SECCOMP, _MODE_FILTER, ctypes.addressof(filter_program))


def _on(number: int, body: list[_Line]) -> list[_Line]:
    return [(_EQUAL, 0, len(body), number), *body]


def _load(argument: int) -> _Line:
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * argument)


def _fail(number: int) -> _Line:
    return (_RETURN, 0, 0, _ERROR | number)


def _pass() -> _Line:
    return (_RETURN, 0, 0, _ALLOW)

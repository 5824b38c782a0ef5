"""Seccomp: a filter that allows a bot only the system calls of `arena.sandbox.launch.calls`.

Layouts: linux/seccomp.h, linux/filter.h. The filter finds a call's number with a balanced tree of
    comparisons.
For calls without rules about arguments, Linux 5.11 and later evaluate the filter once, at installation.
"""

from __future__ import annotations

import ctypes
import errno

from arena.sandbox.launch.calls import ALLOWABLE, ALLOWED, NEWEST, REFUSALS, RULED
from arena.sandbox.launch.kernel import prctl, syscall

TYPE_CHECKING = False  # importing typing would take a quarter of the time of a starter
if TYPE_CHECKING:
    from collections.abc import Iterable

    from arena.sandbox.launch.calls import Call

_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06
_EQUAL, _AT_LEAST, _ANY_BIT = 0x15, 0x35, 0x45
"""Instructions of classic BPF, each with a constant operand."""
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
"""Offsets in `struct seccomp_data`; both architectures store the low half of an argument first."""
_ALLOW, _KILL, _ERROR, _ASK = 0x7FFF0000, 0x80000000, 0x00050000, 0x7FC00000
"""Return values of a filter; `_ASK` passes a refusal to the listener of a traced bot, which answers it."""
_PR_SET_NO_NEW_PRIVS = 38
_SET_MODE_FILTER, _NEW_LISTENER = 1, 8
_X32 = 0x40000000
"""Bit that is set in every call number of a program compiled for x32."""

_CLONE_THREAD, _CLONE_NAMESPACES = 0x00010000, 0x7E020000
_MAP_SHARED, _MAP_ANONYMOUS = 1, 0x20
"""MAP_SHARED_VALIDATE includes the bit of MAP_SHARED; MAP_PRIVATE and MAP_DROPPABLE do not."""
_AF_UNIX, _SOCK_STREAM, _SOCK_FLAGS = 1, 1, 0x80800
_SIGCONT = 18
_FCNTL = (
    *range(8),  # DUPFD, GETFD, SETFD, GETFL, SETFL, GETLK, SETLK, SETLKW
    *(36, 37, 38),  # OFD_GETLK, OFD_SETLK, OFD_SETLKW: the same locks, owned by the open file
    *(1030, 1032),  # DUPFD_CLOEXEC, GETPIPE_SZ
)
_IOCTL = (
    *(0x5401, 0x5413),  # TCGETS, TIOCGWINSZ: whether it is a terminal, and its size
    *(0x541B, 0x5421, 0x5450, 0x5451),  # FIONREAD, FIONBIO, FIONCLEX, FIOCLEX
)
_PRCTL = (
    *(15, 16, 0x53564D41),  # SET_NAME, GET_NAME, SET_VMA
    *(41, 42),  # SET_THP_DISABLE, GET_THP_DISABLE
    # GET_: PDEATHSIG, DUMPABLE, KEEPCAPS, SECCOMP, SECUREBITS, TIMERSLACK; CAPBSET_READ
    *(2, 3, 7, 21, 27, 30, 23),
    # GET_NO_NEW_PRIVS, SVE_GET_VL, GET_SPECULATION_CTRL, GET_TAGGED_ADDR_CTRL, GET_AUXV
    *(39, 51, 52, 56, 0x41555856),
)

_Line = tuple[int, int, int, int]
"""Code, jump if true, jump if false, operand. Jumps count the lines to skip."""


def _load(argument: int) -> _Line:
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * argument)


def _fail(number: int) -> _Line:
    return (_RETURN, 0, 0, _ERROR | number)


_PASS: _Line = (_RETURN, 0, 0, _ALLOW)
_REFUSE = _fail(errno.EPERM)


def _one_of(argument: int, values: tuple[int, ...]) -> tuple[_Line, ...]:
    tests = [(_EQUAL, len(values) - index, 0, value) for index, value in enumerate(values)]
    return (_load(argument), *tests, _REFUSE)


def _no_continue(argument: int) -> tuple[_Line, ...]:
    return (_load(argument), (_EQUAL, 0, 1, _SIGCONT), _REFUSE)


_RULES: dict[str, tuple[_Line, ...]] = {
    "clone": (
        # Allowed only with CLONE_THREAD and without any flag that makes a namespace.
        _load(0),
        *((_ANY_BIT, 1, 0, _CLONE_THREAD), _REFUSE),
        *((_ANY_BIT, 0, 1, _CLONE_NAMESPACES), _REFUSE),
    ),
    "mmap": (_load(3), (_ANY_BIT, 0, 2, _MAP_ANONYMOUS), (_ANY_BIT, 0, 1, _MAP_SHARED), _REFUSE),
    "fallocate": (_load(1), (_EQUAL, 1, 0, 0), _REFUSE),
    "prlimit64": (_load(0), (_EQUAL, 1, 0, 0), _REFUSE),
    "setpriority": (_load(0), (_EQUAL, 0, 2, 0), _load(1), (_EQUAL, 1, 0, 0), _REFUSE),
    "socketpair": (
        *(_load(0), (_EQUAL, 0, 3, _AF_UNIX)),
        *(_load(1), (_AND, 0, 0, 0xFFFFFFFF ^ _SOCK_FLAGS), (_EQUAL, 1, 0, _SOCK_STREAM), _REFUSE),
    ),
    "fcntl": _one_of(1, _FCNTL),
    "ioctl": _one_of(1, _IOCTL),
    "prctl": _one_of(0, _PRCTL),
    **dict.fromkeys(("kill", "tkill", "rt_sigqueueinfo"), _no_continue(1)),
    **dict.fromkeys(("tgkill", "rt_tgsigqueueinfo"), _no_continue(2)),
}
"""Lines by system call that refuse it with some arguments; after those that allow the call, execution
continues."""


class _Architecture:
    def __init__(self, audit: int, column: int, seccomp: int) -> None:
        self.audit = audit
        """The AUDIT_ARCH value of the architecture."""
        self.column = column
        """Index of the architecture's number in a `Call`."""
        self.seccomp = seccomp
        """Number of the system call `seccomp` itself."""


_X86_64 = _Architecture(0xC000003E, 1, 317)
_AARCH64 = _Architecture(0xC00000B7, 2, 277)
ARCHITECTURES = {"x86_64": _X86_64, "aarch64": _AARCH64, "arm64": _AARCH64}
"""Architectures by `os.uname().machine`."""


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("if_true", ctypes.c_uint8),
        ("if_false", ctypes.c_uint8),
        ("operand", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("lines", ctypes.POINTER(_Instruction)))


def program(machine: str, extra: Iterable[str] = (), *, traced: bool = False) -> list[_Line]:
    """Build the filter for an architecture as lines of code, jump if true, jump if false, operand.

    Args:
        machine: a key of `ARCHITECTURES`.
        extra: names in `calls.ALLOWABLE` that are also allowed.
        traced: whether a listener decides about each refusal.

    Raises:
        KeyError: `machine` is not in `ARCHITECTURES`, or a name in `extra` not in `calls.ALLOWABLE`.
    """
    architecture = ARCHITECTURES[machine]
    lines: list[_Line] = [
        # A program may switch to another architecture, whose call numbers mean other calls: kill it.
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, architecture.audit),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if architecture is _X86_64:
        # x32 programs have the same architecture value, but other call numbers.
        lines += [(_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, _KILL)]
    lines += _tree(_segments(_answers(architecture, extra)))
    if traced:
        lines = [_traced(line) for line in lines]
    return lines


def refusal(machine: str, number: int) -> int:
    """Return the error number with which the filter refuses a call, for a call that it refuses."""
    return _refusals(ARCHITECTURES[machine].column).get(number, _unknown(number))


def restrict(machine: str, extra: Iterable[str] = ()) -> None:
    """Install the filter on this process irrevocably, and give up new privileges.

    Args:
        machine: a key of `ARCHITECTURES`.
        extra: names in `calls.ALLOWABLE` that are also allowed.

    Raises:
        KeyError: an argument is unknown, as for `program`.
        OSError: the kernel refused the call.
    """
    _install(machine, program(machine, extra), 0)


def restrict_traced(machine: str, extra: Iterable[str] = ()) -> int:
    """Install the filter and let a listener decide about each refusal; return the listener's descriptor.

    A refused call blocks until the listener answers. After the listener is closed, refused calls fail with
    ENOSYS.

    Raises:
        KeyError: an argument is unknown, as for `program`.
        OSError: the kernel refused the call.
    """
    return _install(machine, program(machine, extra, traced=True), _NEW_LISTENER)


def _install(machine: str, lines: list[_Line], flags: int) -> int:
    block = (_Instruction * len(lines))(*(_Instruction(*line) for line in lines))
    filter_program = _Program(len(lines), block)
    # Without this flag the kernel accepts filters from root only.
    prctl("no new privileges", _PR_SET_NO_NEW_PRIVS, 1)
    number = ARCHITECTURES[machine].seccomp
    return syscall("seccomp", number, _SET_MODE_FILTER, flags, ctypes.byref(filter_program))


def _traced(line: _Line) -> _Line:
    code, if_true, if_false, operand = line
    is_refusal = code == _RETURN and operand & 0xFFFF0000 == _ERROR
    return (code, if_true, if_false, _ASK) if is_refusal else line


def _answers(architecture: _Architecture, extra: Iterable[str]) -> dict[int, tuple[_Line, ...]]:
    """Return the lines to execute for each call number that is not simply refused."""
    column = architecture.column
    refusals = _refusals(column)
    answers: dict[int, tuple[_Line, ...]] = {number: (_fail(error),) for number, error in refusals.items()}
    groups = [*ALLOWED.values(), *(ALLOWABLE[name] for name in extra)]
    answers |= dict.fromkeys(_numbers(groups, column), (_PASS,))
    for name, number in ((call[0], call[column]) for group in RULED.values() for call in group):
        if isinstance(number, int):
            refused = _fail(refusals.get(number, errno.EPERM))
            answers[number] = (*(refused if line == _REFUSE else line for line in _RULES[name]), _PASS)
    return answers


def _refusals(column: int) -> dict[int, int]:
    return {number: error for error, group in REFUSALS.items() for number in _numbers([group], column)}


def _numbers(groups: Iterable[Iterable[Call]], column: int) -> list[int]:
    found = [call[column] for group in groups for call in group]
    return [number for number in found if isinstance(number, int)]


def _segments(answers: dict[int, tuple[_Line, ...]]) -> list[tuple[int, tuple[_Line, ...]]]:
    """Merge neighbouring numbers with the same lines; a segment ends where the next one begins."""
    segments: list[tuple[int, tuple[_Line, ...]]] = []
    for number in range(NEWEST + 2):
        answer = answers.get(number, (_fail(_unknown(number)),))
        if not segments or segments[-1][1] != answer:
            segments.append((number, answer))
    return segments


def _tree(segments: list[tuple[int, tuple[_Line, ...]]]) -> list[_Line]:
    """Return the lines that find the segment of the loaded number and execute its lines."""
    if len(segments) == 1:
        return list(segments[0][1])
    middle = len(segments) // 2
    pivot, below, above = segments[middle][0], _tree(segments[:middle]), _tree(segments[middle:])
    # A jump offset has 8 bits; half of the tree is shorter than that, which a test checks.
    return [(_AT_LEAST, len(below), 0, pivot), *below, *above]


def _unknown(number: int) -> int:
    # ENOSYS lets a program that tries a newer call fall back, as on an older kernel.
    return errno.ENOSYS if number > NEWEST else errno.EPERM

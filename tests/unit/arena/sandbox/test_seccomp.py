"""The filter is executed by a small interpreter, so that every architecture is tested on every other."""

from __future__ import annotations

import errno
from functools import cache

import pytest

from arena.sandbox.launch.calls import ALLOWABLE, ALLOWED, NEWEST, REFUSALS, RULED
from arena.sandbox.launch.seccomp import ARCHITECTURES, program, refusal

ALLOW, KILL, ASK = 0x7FFF0000, 0x80000000, 0x7FC00000
X32 = 0x40000000
I386 = 0x40000003
MAX_NUMBER = 600
COLUMNS = {"x86_64": 1, "aarch64": 2}
MACHINES = pytest.mark.parametrize("machine", COLUMNS)

Arguments = tuple[int, ...]
CASES: dict[str, tuple[list[Arguments], list[Arguments], int]] = {
    # As pthread_create sets them, and 1 << 32, which the kernel ignores; fork, vfork; namespaces.
    "clone": (
        [(0x3D0F00,), (0x10000,), (1 << 32 | 0x10000,)],
        [(17,), (0x4111,), (0,), (0x10000 << 32,), *[(0x10000 | 1 << bit,) for bit in (17, *range(25, 31))]],
        errno.EPERM,
    ),
    "mmap": (
        # A shared file, also by MAP_SHARED_VALIDATE; private memory, and MAP_DROPPABLE for getrandom.
        [
            (0, 1, 3, 0x01),
            (0, 1, 3, 0x03),
            (0, 1, 3, 0x22),
            (0, 1, 3, 0x28),
            (0, 1, 3, 0x02),
            (0, 1, 3, 0x20022),
        ],
        [(0, 1, 3, 0x21), (0, 1, 3, 0x23), (0, 1, 3, 0x8021), (0, 1, 3, 0x40021)],
        errno.EPERM,
    ),
    "fallocate": ([(3, 0, 0, 9)], [(3, 1, 0, 9), (3, 3, 0, 9), (3, 0x10, 0, 9)], errno.ENOTSUP),
    "fcntl": (
        [(3, command) for command in (0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1030, 1032)],
        # SETOWN, GETOWN, SETSIG, GETSIG, SETOWN_EX, SETLEASE, NOTIFY, SETPIPE_SZ, ADD_SEALS, SET_RW_HINT
        [(3, command) for command in (8, 9, 10, 11, 15, 1024, 1026, 1031, 1033, 1036, 0xFFFFFFFF)],
        errno.EPERM,
    ),
    "ioctl": (
        [(0, command) for command in (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)],
        # TCSETS, TIOCSTI, FIOASYNC, FIOSETOWN, FS_IOC_SETFLAGS, TIOCLINUX
        [(0, command) for command in (0x5402, 0x5412, 0x5452, 0x8901, 0x40086602, 0x541C, 0)],
        errno.ENOTTY,
    ),
    "prctl": (
        [
            (option,)
            for option in (15, 16, 0x53564D41, 41, 42, 2, 3, 7, 21, 23, 27, 30, 39, 51, 52, 56, 0x41555856)
        ],
        # PDEATHSIG, DUMPABLE, KEEPCAPS, SECCOMP, CAPBSET_DROP, SECUREBITS, MM, SUBREAPER, AMBIENT, PTRACER
        [(option,) for option in (1, 4, 8, 22, 24, 28, 35, 36, 47, 0x59616D61, 53, 0)],
        errno.EPERM,
    ),
    "prlimit64": ([(0, 7, 0, 0)], [(1, 7), (4711, 7), (0xFFFFFFFF, 7)], errno.EPERM),
    "setpriority": ([(0, 0, 5)], [(0, 9, 5), (1, 0, 5), (2, 0, 5)], errno.EPERM),
    "socketpair": (
        [(1, 1), (1, 0x80001), (1, 0x801), (1, 0x80801)],
        [(1, 2), (1, 5), (1, 0x80005), (2, 1), (16, 3), (1, 3), (1, 0)],
        errno.EPERM,
    ),
    **dict.fromkeys(
        ("kill", "tkill", "rt_sigqueueinfo"), ([(18, 9), (0, 0)], [(5, 18), (0, 18)], errno.EPERM)
    ),
    **dict.fromkeys(("tgkill", "rt_tgsigqueueinfo"), ([(18, 18, 9)], [(5, 5, 18)], errno.EPERM)),
}
"""For each rule: allowed arguments, refused arguments, and the error."""

PLAIN = (ALLOWED, ALLOWABLE)


@cache
def lines_of(machine: str, extra: tuple[str, ...], *, traced: bool) -> list[tuple[int, int, int, int]]:
    return program(machine, extra, traced=traced)


def run(
    machine: str,
    call: int,
    *arguments: int,
    audit: int | None = None,
    extra: tuple[str, ...] = (),
    traced: bool = False,
) -> int:
    words = {0: call, 4: audit or ARCHITECTURES[machine].audit}
    words |= {16 + 8 * i: argument & 0xFFFFFFFF for i, argument in enumerate((*arguments, *[0] * 6)[:6])}
    lines, line, register = lines_of(machine, extra, traced=traced), 0, 0
    while True:
        code, if_true, if_false, operand = lines[line]
        assert max(if_true, if_false) < 256
        line += 1
        if code == 0x20:
            register = words[operand]
        elif code == 0x54:
            register &= operand
        elif code == 0x06:
            return operand
        else:
            tests = {0x15: register == operand, 0x35: register >= operand, 0x45: bool(register & operand)}
            line += if_true if tests[code] else if_false


def numbers(
    machine: str, *tables: dict[str, tuple[tuple[str, int | None, int | None], ...]]
) -> dict[str, int]:
    column = COLUMNS[machine]
    calls = [call for table in tables for group in table.values() for call in group]
    return {str(call[0]): number for call in calls if isinstance(number := call[column], int)}


def error(number: int) -> int:
    return 0x50000 | number


@MACHINES
def test_what_is_not_in_the_table_is_refused(machine: str) -> None:
    plain, ruled = numbers(machine, ALLOWED), numbers(machine, RULED)
    other = {column[COLUMNS[machine]]: number for number, group in REFUSALS.items() for column in group}
    for number in range(MAX_NUMBER + 1):
        if number in plain.values():
            expected = ALLOW
        elif number in ruled.values():
            continue
        elif number in other:
            expected = error(other[number])
        else:
            expected = error(errno.ENOSYS if number > NEWEST else errno.EPERM)
        assert run(machine, number) == run(machine, number, *[0xFFFFFFFF] * 6) == expected, number
    assert run(machine, 0x3FFFFFFF) == error(errno.ENOSYS)


@MACHINES
def test_each_rule_looks_at_the_arguments(machine: str) -> None:
    ruled = numbers(machine, RULED)
    assert ruled.keys() == CASES.keys()
    for name, (passing, refused, number) in CASES.items():
        for arguments in passing:
            assert run(machine, ruled[name], *arguments) == ALLOW, (name, arguments)
        for arguments in refused:
            assert run(machine, ruled[name], *arguments) == error(number), (name, arguments)


@MACHINES
def test_files_can_be_changed_where_it_is_said(machine: str) -> None:
    for name, group in ALLOWABLE.items():
        for number in numbers(machine, {name: group}).values():
            assert run(machine, number) == error(errno.EPERM)
            assert run(machine, number, extra=(name,)) == ALLOW
            others = tuple(ALLOWABLE.keys() - {name})
            assert run(machine, number, extra=others) == error(errno.EPERM)
    with pytest.raises(KeyError, match="ptrace"):
        program(machine, ["ptrace"])


@MACHINES
def test_foreign_calls_kill(machine: str) -> None:
    foreign = [I386, *(other.audit for other in ARCHITECTURES.values() if other != ARCHITECTURES[machine])]
    for number in (*range(MAX_NUMBER + 1), X32, X32 | 1):
        for audit in foreign:
            assert run(machine, number, audit=audit) == KILL


def test_x32_kills() -> None:
    for number in (*range(X32, X32 + MAX_NUMBER), 0xFFFFFFFF):
        assert run("x86_64", number) == KILL
    assert run("aarch64", X32) == error(errno.ENOSYS)


@MACHINES
def test_the_listener_is_asked_about_refusals_only(machine: str) -> None:
    ruled = {number: name for name, number in numbers(machine, RULED).items()}
    for number in range(MAX_NUMBER + 1):
        answer = run(machine, number)
        for arguments in CASES[ruled[number]][1] if number in ruled else ():
            assert run(machine, number, *arguments, traced=True) == ASK
            assert run(machine, number, *arguments) == error(refusal(machine, number))
        if number not in ruled and answer != ALLOW:
            assert answer == error(refusal(machine, number))
        expected = ASK if answer & 0xFFFF0000 == 0x50000 else answer
        assert run(machine, number, traced=True) == expected, number
    assert run(machine, 1, audit=I386, traced=True) == KILL


@MACHINES
def test_an_answer_takes_few_instructions(machine: str) -> None:
    # A balanced tree over some 140 segments; the kernel allows 4,096 instructions.
    assert len(program(machine, ALLOWABLE)) < 450

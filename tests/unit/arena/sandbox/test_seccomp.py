"""The filter is run by a small machine of our own, so that every architecture is tested on every other."""

from __future__ import annotations

import errno

import pytest

from arena.sandbox.launch.seccomp import ARCHITECTURES, program

ALLOW, KILL = 0x7FFF0000, 0x80000000
THREAD, X32 = 0x10000, 0x40000000


def refusal(number: int) -> int:
    return 0x50000 | number


def run(machine: str, call: int, *arguments: int, audit: int | None = None) -> int:
    words = {0: call, 4: audit or ARCHITECTURES[machine].audit}
    words |= {16 + 8 * i: argument & 0xFFFFFFFF for i, argument in enumerate((*arguments, 0, 0)[:6])}
    lines, line, register = program(machine), 0, 0
    while True:
        code, if_true, if_false, operand = lines[line]
        line += 1
        if code == 0x20:
            register = words[operand]
        elif code == 0x06:
            return operand
        else:
            holds = {0x15: register == operand, 0x35: register >= operand, 0x45: bool(register & operand)}[
                code
            ]
            line += if_true if holds else if_false


MACHINES = pytest.mark.parametrize("machine", ["x86_64", "aarch64"])


@MACHINES
def test_each_call_has_its_answer(machine: str) -> None:
    calls = ARCHITECTURES[machine].calls
    assert run(machine, calls["socket"], 2) == refusal(errno.EAFNOSUPPORT)
    assert run(machine, calls["clone3"]) == refusal(errno.ENOSYS)
    assert run(machine, calls["clone"], THREAD | 0x100) == ALLOW
    assert run(machine, calls["clone"], 17) == refusal(errno.EPERM)
    conditional = {"socket", "clone3", "clone", "prlimit64", "setpriority"}
    for name in calls.keys() - conditional:
        if not name.startswith("sched_"):
            assert run(machine, calls[name]) == refusal(errno.EPERM), name
    for name in [name for name in calls if name == "prlimit64" or name.startswith("sched_")]:
        assert run(machine, calls[name], 0) == ALLOW, name
        assert run(machine, calls[name], 4711) == refusal(errno.EPERM), name
    for which, who, answer in ((0, 0, ALLOW), (0, 9, refusal(1)), (2, 0, refusal(1)), (1, 0, refusal(1))):
        assert run(machine, calls["setpriority"], which, who) == answer


@MACHINES
def test_all_else_passes_unless_it_is_foreign(machine: str) -> None:
    calls = ARCHITECTURES[machine].calls
    for number in set(range(512)) - set(calls.values()):
        assert run(machine, number) == ALLOW
        assert run(machine, number, audit=0x40000003) == KILL


def test_x32_is_refused() -> None:
    assert run("x86_64", X32 | 1) == run("x86_64", 0xFFFFFFFF) == refusal(errno.EPERM)
    assert {"fork", "vfork"} <= ARCHITECTURES["x86_64"].calls.keys()

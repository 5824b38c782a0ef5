"""A bot gets the same errors with and without a tracer, and the tracer reports the refused calls."""

from __future__ import annotations

import errno
import re
import shutil
import sys
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from arena.cli.doctor import doctor
from arena.sandbox.launch.calls import ALLOWABLE, ALLOWED, NEWEST, REFUSALS, RULED
from arena.sandbox.process import spawn
from arena.sandbox.process_settings import ProcessSettings
from arena.sandbox.readable import Readable
from arena.sandbox.tier import Tier, tiers_to_try
from arena.sandbox.tier_grades import default_tier
from arena.sandbox.trace import Refused, Tracer, call_name

SCRIPT = """
import errno, os, socket, sys
def told(call, *arguments):
    try:
        call(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]
answers = [told(os.memfd_create, "a"), told(os.memfd_create, "b"), told(socket.socket)]
answers += [told(os.chmod, ".", 0o700), told(os.kill, os.getpid(), 18), told(os.listxattr, ".")]
print(*answers, told(os.getpid), flush=True)
sys.stdin.read()
"""
ANSWERS = "EPERM EPERM EAFNOSUPPORT EPERM EPERM ENOTSUP None\n"


def answers(*command: str, tracer: Tracer | None, tier: Tier = Tier.T2) -> str:
    """Start a program; return the first line of its output."""
    import os
    import select

    assert tier in tiers_to_try(), "tests of tracing need Linux with Landlock"
    with closing(spawn(ProcessSettings(command, tier), tracer)) as process:
        heard = b""
        while not heard.endswith(b"\n"):
            assert select.select([process.stdout], [], [], 60)[0]
            chunk = os.read(process.stdout, 4096)
            if not chunk:
                break
            heard += chunk
        process.kill()
    return heard.decode()


def test_the_tracer_counts_and_changes_nothing() -> None:
    command = (sys.executable, "-I", "-S", "-c", SCRIPT)
    assert answers(*command, tracer=None) == ANSWERS
    with Tracer() as tracer:
        assert answers(*command, tracer=tracer) == ANSWERS
    refused = tracer.refused()
    assert refused[0] == Refused("memfd_create", 2, errno.EPERM)
    assert {call.name: (call.times, call.error) for call in refused[1:]} == {
        "socket": (1, errno.EAFNOSUPPORT),
        "chmod": (1, errno.EPERM),
        "kill": (1, errno.EPERM),
        "listxattr": (1, errno.ENOTSUP),
    }
    assert {call.name: call.allowed_by for call in refused if call.allowed_by} == {"chmod": "chmod"}


def test_several_bots_share_a_tracer() -> None:
    with Tracer() as tracer:
        for tier in (Tier.T2, Tier.T3):
            answers(sys.executable, "-I", "-S", "-c", SCRIPT, tracer=tracer, tier=tier)
    counts = {call.name: call.times for call in tracer.refused()}
    assert counts["memfd_create"] == 4
    assert counts["chmod"] == 1


def test_a_tracer_without_a_bot_ends() -> None:
    with Tracer() as tracer:
        pass
    assert tracer.refused() == []


def test_a_program_that_may_not_read_python_is_traced() -> None:
    shell = shutil.which("sh")
    assert shell is not None
    with Tracer() as tracer:
        process = spawn(
            ProcessSettings(
                [shell, "-c", "true & echo never"], Tier.T2, readable=Readable(()).with_runtime(shell)
            ),
            tracer,
        )
        with closing(process):
            assert process.kill(grace_s=60).code
    assert {call.name for call in tracer.refused()} & {"clone", "fork", "vfork"}


def test_the_doctor_traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARENA_CACHE", str(tmp_path / "cache"))
    result = CliRunner().invoke(doctor, ["--trace", "random"])
    assert (result.exit_code, result.output) == (0, f"tier {default_tier()} refused random no system call\n")
    # A container allows a bot to change the modes of its own files.
    monkeypatch.setattr("arena.sandbox.tier_grades.default_tier", lambda: Tier.T2)
    assert ",chmod," in CliRunner().invoke(doctor, ["--trace", "keras", "--format", "csv"]).output
    monkeypatch.setattr("arena.sandbox.tier_grades.default_tier", lambda: Tier.T1)
    result = CliRunner().invoke(doctor, ["--trace", "random"])
    assert "no system call is refused in tier T1" in str(result.exception)


def test_the_refusal_goes_with_the_option_the_doctor_names() -> None:
    result = CliRunner().invoke(doctor, ["--trace", "keras:allow=chmod", "--format", "csv"])
    assert result.exit_code == 0, result.output
    assert "clone3" in result.output
    assert ",chmod," not in result.output


@pytest.mark.parametrize(("machine", "column"), [("x86_64", 1), ("aarch64", 2)])
def test_the_names_are_those_of_the_table(machine: str, column: int) -> None:
    for table in (ALLOWED, RULED, ALLOWABLE, REFUSALS):
        for call in (call for group in table.values() for call in group):
            if isinstance(number := call[column], int):
                assert call_name(machine, number) == call[0]
    assert call_name(machine, NEWEST) == "file_setattr"
    assert [call_name(machine, number) for number in (NEWEST + 1, 400, -1)] == [
        "call 470",
        "call 400",
        "call -1",
    ]
    assert call_name("aarch64", 244) == "call 244"


@pytest.mark.parametrize(
    ("machine", "header"),
    [
        (machine, header)
        for machine, header in (
            ("x86_64", "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
            ("aarch64", "/usr/include/asm-generic/unistd.h"),
        )
        if Path(header).exists()
    ],
)
def test_the_names_are_those_of_the_kernel_headers(machine: str, header: str) -> None:
    text = Path(header).read_text(encoding="utf-8")
    kernels = {int(number): name for name, number in re.findall(r"#define __NR(?:3264)?_(\w+) (\d+)", text)}
    for number in range(max(kernels)):
        # The numbers in between belong to 32-bit architectures; one name has two spellings.
        known = None if 295 <= number < 424 and machine == "aarch64" else kernels.get(number)
        if known in {"arch_specific_syscall", "sync_file_range2", "fstatat"}:
            continue
        assert call_name(machine, number) == (known or f"call {number}")

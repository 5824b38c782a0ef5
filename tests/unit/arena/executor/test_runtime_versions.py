"""Versions that runtimes report in the sandbox."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from arena.executor import runtime_versions
from arena.executor.runtime_versions import describe_runtime, runtime_name
from arena.executor.sandboxed import strongest_usual_tier
from arena.sandbox.tier import Tier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.executor.sandboxed import Done
    from arena.sandbox.readable import Readable


def tool(path: Path, body: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    os.utime(path, ns=(10**18, 10**18))
    return str(path)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/usr/bin/python3.11", "python"),
        ("/x/node-20", "node"),
        ("/bin/sh", "sh"),
        ("/7", "7"),
        ("/a\nb\x1b[1m", "a b[1m"),
    ],
)
def test_names(path: str, name: str) -> None:
    assert runtime_name(path) == name


def test_this_interpreter() -> None:
    assert describe_runtime(sys.executable) == f"python {platform.python_version()}"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("echo v1.22.333", "tool 1.22.333"),
        ("echo 'This is tool 5, version 36 (v5.36.0)'", "tool 5.36.0"),
        ("echo 'tool version \"17.0.2\" 2025' >&2", "tool 17.0.2"),
        ("echo 4.5; exit 1", "tool"),
        ("echo no number", "tool"),
        ('[ "$*" = --version ] && echo 1.2', "tool 1.2"),
        ("kill -9 $$", "tool"),
    ],
)
def test_the_version_is_the_first_number_with_a_point(body: str, said: str, tmp_path: Path) -> None:
    assert describe_runtime(tool(tmp_path / "tool3", body)) == said


def test_java_is_asked_as_its_first_versions_were(tmp_path: Path) -> None:
    java = tool(tmp_path / "java", '[ "$*" = -version ] && echo \'java version "1.8.0_402"\' >&2')
    assert describe_runtime(java) == "java 1.8.0"


def test_a_runtime_that_is_not_there_has_a_name(tmp_path: Path) -> None:
    assert describe_runtime(str(tmp_path / "node20")) == "node"


def test_a_runtime_that_hangs_has_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime_versions, "_SECONDS", 0.3)
    assert describe_runtime(tool(tmp_path / "tool", "while :; do :; done")) == "tool"


def test_it_is_asked_once_until_its_file_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tool(tmp_path / "tool", "echo 1.2.3")
    starts: list[str] = []
    run = runtime_versions.run_sandboxed

    def counted(command: Sequence[str], readable: Readable, seconds: float) -> Done:
        starts.append(command[0])
        return run(command, readable, seconds)

    monkeypatch.setattr(runtime_versions, "run_sandboxed", counted)
    assert {describe_runtime(program) for _ in range(3)} == {"tool 1.2.3"}
    assert len(starts) == 1
    tool(Path(program), "echo 1.2.4")
    os.utime(program, ns=(10**18, 10**18 + 1))
    assert describe_runtime(program) == "tool 1.2.4"
    assert len(starts) == 2


def test_it_is_asked_in_the_sandbox(tmp_path: Path) -> None:
    found = tmp_path / "found"
    program = tool(tmp_path / "tool", f"{{ echo x > {found}; }} 2>/dev/null; echo 1.2.3")
    assert describe_runtime(program) == "tool 1.2.3"
    assert found.exists() == (strongest_usual_tier() < Tier.T2)

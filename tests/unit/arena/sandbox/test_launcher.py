from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import arena.sandbox

LAUNCHER = Path(arena.sandbox.__path__[0], "launcher.py")


def launch(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-S", str(LAUNCHER), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603 - our own script


def test_it_becomes_the_command() -> None:
    done = launch(str(os.getpid()), "NOFILE=20,UNHEARD_OF=1", "/bin/sh", "-c", "ulimit -n")
    assert (done.returncode, done.stdout) == (0, "20\n")


def test_it_does_nothing_for_an_arena_that_is_gone() -> None:
    done = launch("1", "", "/bin/echo", "alive")
    assert (done.returncode, done.stdout) == (127, "")


def test_a_command_that_cannot_run_is_named() -> None:
    done = launch(str(os.getpid()), "", "/nowhere/bot")
    assert (done.returncode, done.stderr) == (127, "cannot run /nowhere/bot: No such file or directory\n")

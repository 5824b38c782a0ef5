from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from arena.sandbox.launch_recipe import encode
from arena.sandbox.starter import LAUNCHER

if TYPE_CHECKING:
    from pathlib import Path


def launch(
    folder: Path, *command: str, parent: int | None = None, entries: tuple[tuple[str, str], ...] = ()
) -> subprocess.CompletedProcess[str]:
    recipe = folder / "recipe"
    common = [("parent", str(parent or os.getpid())), ("tier", "T1")]
    recipe.write_bytes(encode([*common, *entries, *(("command", part) for part in command)]))
    done = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, "-I", "-S", LAUNCHER, str(recipe)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert not recipe.exists()
    return done


def test_it_becomes_the_command(tmp_path: Path) -> None:
    limits = (("limit", "NOFILE=20"), ("limit", "UNHEARD_OF=1"))
    done = launch(tmp_path, "/bin/sh", "-c", 'ulimit -n; echo "$0"', "a\nb", entries=limits)
    assert (done.returncode, done.stdout) == (0, "20\na\nb\n")


def test_it_does_nothing_for_an_arena_that_is_gone(tmp_path: Path) -> None:
    done = launch(tmp_path, "/bin/echo", "alive", parent=1)
    assert (done.returncode, done.stdout) == (127, "")


def test_a_command_that_cannot_run_is_named(tmp_path: Path) -> None:
    done = launch(tmp_path, "/nowhere/bot")
    assert (done.returncode, done.stderr) == (127, "cannot run /nowhere/bot: No such file or directory\n")


def test_a_lock_that_cannot_be_set_stops_the_start(tmp_path: Path) -> None:
    done = launch(tmp_path, "/bin/echo", "alive", entries=(("limit", "NOFILE=-2"),))
    assert (done.returncode, done.stdout) == (127, "")
    assert done.stderr.startswith("cannot start the bot in T1: ")

"""No command imports a file of the current folder, even if it has the name of a module."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import sysconfig
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ARENA = shutil.which("arena", path=sysconfig.get_path("scripts"))
NAMES = ("random", "arena", "json", "arena_plugins", "tempfile", "pickle", "numpy")
FAST = ("--game", "tic-tac-toe", "--st", "5", "--openings", "none", "--rounds", "1")
_SCREEN = b"\x1b[?1049h"
COMMANDS = [
    ("bots", "list"),
    ("bots", "check", "random", "--game", "tic-tac-toe"),
    ("bots", "info", "random"),
    ("play", "random", "--plain", "--game", "tic-tac-toe"),
    ("match", "random", "random", *FAST, "--games", "2"),
    ("tournament", "random", "minimax", *FAST, "--games", "2", "--executor", "local", "--concurrency", "2"),
    ("leaderboard",),
    ("doctor",),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a folder of files named like modules; each of them records its name when it is imported."""
    canary = tmp_path / "canary"
    place = tmp_path / "place"
    place.mkdir()
    for name in NAMES:
        (place / f"{name}.py").write_text(f"open({str(canary)!r}, 'a').write('{name} ')\n")
    return place


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Use a separate cache of compiled kernels, so that these tests compile kernels in that folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARENA_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def environment(tmp_path: Path) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "ARENA"))}
    own = {f"ARENA_{key}": str(tmp_path / name) for key, name in (("HOME", "home"), ("DB", "arena.db"))}
    return {**kept, **own, "ARENA_CACHE": os.environ["ARENA_CACHE"], "NO_COLOR": "1", "TERM": "xterm"}


def caught(tmp_path: Path) -> str:
    canary = tmp_path / "canary"
    return canary.read_text() if canary.exists() else ""


def run_arena(words: tuple[str, ...], folder: Path) -> subprocess.CompletedProcess[str]:
    assert ARENA is not None
    return subprocess.run(  # noqa: S603 - the command as users call it
        [ARENA, *words],
        cwd=folder,
        env=environment(folder.parent),
        input="",
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words[:2]))
def test_a_command_reads_none(words: tuple[str, ...], folder: Path) -> None:
    if words == ("leaderboard",):
        run_arena(("match", "random", "minimax", *FAST, "--games", "1"), folder)
    done = run_arena(words, folder)
    assert caught(folder.parent) == ""
    # The command completed its work, or ended at the end of its input.
    assert done.returncode in ({0, 1} if words[0] in {"play", "doctor"} else {0}), done.stderr
    assert "Traceback" not in done.stderr


def test_python_m_arena_reads_none_but_what_python_takes_for_the_arena(folder: Path) -> None:
    (folder / "arena.py").unlink()  # Python itself would run this file, before any code of the arena
    command = [sys.executable, "-m", "arena", "bots", "list"]
    done = subprocess.run(  # noqa: S603 - as above
        command, cwd=folder, env=environment(folder.parent), capture_output=True, text=True, check=True
    )
    assert "minimax" in done.stdout
    assert caught(folder.parent) == ""


def dashboard(words: tuple[str, ...], folder: Path) -> None:
    """Open the dashboard on a terminal, wait until its matches are stored, and close it."""
    assert ARENA is not None
    own, other = pty.openpty()
    logs = folder.parent / "home" / "logs" / "started"
    command = [ARENA, *words]
    with subprocess.Popen(  # noqa: S603 - as above
        command, cwd=folder, env=environment(folder.parent), stdin=other, stdout=other, stderr=other
    ) as process:
        seen, deadline = b"", time.monotonic() + 120
        while not (_SCREEN in seen and (words[0] == "watch" or _has_ended(logs))):
            assert time.monotonic() < deadline, seen[-2_000:]
            assert process.poll() is None, seen[-2_000:]
            if select.select([own], [], [], 0.1)[0]:
                seen += os.read(own, 1 << 16)
        process.kill()
    os.close(own)
    os.close(other)


def _has_ended(logs: Path) -> bool:
    return any(b'"ended"' in log.read_bytes() for log in logs.glob("*"))


@pytest.mark.parametrize(
    "words",
    [("watch",), ("tournament", "random", "minimax", *FAST, "--games", "2", "--tui")],
    ids=["watch", "tournament --tui"],
)
def test_the_dashboard_and_what_it_starts_read_none(words: tuple[str, ...], folder: Path) -> None:
    dashboard(words, folder)
    assert caught(folder.parent) == ""

"""Runs commands of `arena` in processes that have the libraries loaded, but nothing of the arena itself.

Half the CPU of a short command goes into importing NumPy, SQLAlchemy and the like. A server imports them
once, and each command is a fork of it that imports the arena and runs the installed script.
"""

from __future__ import annotations

import json
import os
import re
import select
import shlex
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

_SERVER = Path(__file__).with_name("preloaded_server.py")
_PLAIN = re.compile(r"""arena(?: +(?:[\w./:=,@%+-]|'[^']*'|"[^"$`\\]*")+)*""")
"""A command whose words mean the same without a shell."""


class Wish(NamedTuple):
    """A command, and where it runs."""

    command: str
    folder: Path
    env: Mapping[str, str]
    deadline: float
    """Seconds."""


class Preloaded:
    """The server for one interpreter."""

    def __init__(self, python: Path, server: subprocess.Popen[str], folder: Path) -> None:
        """Keep a server that was started by `preloading`; `folder` is for the output of commands."""
        self._python = python
        self._server = server
        self._folder = folder

    def run(self, wish: Wish) -> subprocess.CompletedProcess[str] | None:
        """Run a command and return its result; None if it needs a shell or an interpreter of its own."""
        command = wish.command.strip()
        script = shutil.which("arena", path=wish.env["PATH"])
        if not _PLAIN.fullmatch(command) or script != str(self._python.with_name("arena")):
            return None
        # Python reads these when it starts.
        if {key for key in wish.env if key.startswith("PYTHON")} != {"PYTHONUTF8"}:
            return None
        words = shlex.split(command)
        output, errors = self._folder / "stdout", self._folder / "stderr"
        order = {
            "words": [script, *words[1:]],
            "folder": str(wish.folder),
            "env": dict(wish.env),
            "files": [os.devnull, str(output), str(errors)],
        }
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(f"{json.dumps(order)}\n")
        self._server.stdin.flush()
        if not select.select([self._server.stdout], [], [], wish.deadline)[0]:
            raise subprocess.TimeoutExpired(words, wish.deadline, output.read_bytes(), errors.read_bytes())
        code = int(self._server.stdout.readline())
        return subprocess.CompletedProcess(words, code, output.read_text("utf-8"), errors.read_text("utf-8"))


@contextmanager
def preloading(python: Path, folder: Path, env: Mapping[str, str]) -> Generator[Preloaded]:
    """Yield a server for an interpreter; `folder` is for its files."""
    with subprocess.Popen(  # noqa: S603 - our own program
        [python, _SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(env), text=True
    ) as server:
        try:
            yield Preloaded(python, server, folder)
        finally:
            server.terminate()

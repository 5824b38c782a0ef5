"""Starts a tournament as a process of its own, which outlives whoever started it."""

from __future__ import annotations

import os
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from arena.errors import ArenaError
from arena.home import home, store_path
from arena.own import own_python
from arena.sandbox.limits.exact import own_subtree
from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

WITH_FORMAT = frozenset({"tournament", "match", "test", "ladder", "resume"})
"""Commands that tell their events as objects when they are asked to."""
_MAX_HEAD = 1 << 16
"""Bytes of a log in which the beginning of a tournament stands."""
_MAX_TAIL = 1 << 13
_MAX_LINE = 500
_running: list[subprocess.Popen[bytes]] = []
"""Processes that may outlive whoever started them: one that nobody holds is a warning of Python's."""


class _Line(msgspec.Struct):
    type: str = ""
    tournament: str = ""
    news: tuple[str, ...] = ()


class Launched:
    """A process that was started, and what its log tells of it."""

    def __init__(self, process: subprocess.Popen[bytes], command: tuple[str, ...], log: Path) -> None:
        """Take what `start_tournament` started."""
        self.command = command
        """Program and arguments, as they were run."""
        self.log = log
        """Takes all that it prints."""
        self.pid = process.pid
        self._process = process
        self._tournament = ""
        self._news: tuple[str, ...] = ()

    def poll(self) -> int | None:
        """Give its exit status; None while it runs."""
        return self._process.poll()

    def end(self) -> None:
        """Tell it to end at once; what is stored stays, and can be resumed."""
        with suppress(ProcessLookupError):
            self._process.terminate()

    def tournament(self) -> str:
        """Give the name of the tournament that it plays; empty until that is stored, with its whole plan."""
        if not self._tournament:
            for line in self._read(0, _MAX_HEAD).splitlines():
                with suppress(msgspec.DecodeError):
                    found = msgspec.json.decode(line, type=_Line)
                    self._tournament = found.tournament if found.type == "begun" else ""
                    self._news = found.news
                if self._tournament:
                    break
        return self._tournament

    def news(self) -> tuple[str, ...]:
        """Return what it said about its bots when it began, a sentence each; empty until it has begun."""
        return self._news if self.tournament() else ()

    def complaint(self) -> str:
        """Give its last line that is no event, why it ended if it failed; empty where there is none."""
        size = self.log.stat().st_size if self.log.exists() else 0
        lines = self._read(max(0, size - _MAX_TAIL), _MAX_TAIL).decode("utf-8", "replace").splitlines()
        said = [line for line in lines if line.strip() and not line.startswith("{")]
        return clean_text(said[-1], _MAX_LINE) if said else ""

    def _read(self, start: int, length: int) -> bytes:
        try:
            with self.log.open("rb") as file:
                file.seek(start)
                return file.read(length)
        except OSError:  # somebody cleared the logs away
            return b""


def start_tournament(argv: Sequence[str], *, db: str | None = None) -> Launched:
    """Run a command of the arena that plays, in the background and in a session of its own.

    It has no terminal, so neither Ctrl-C nor the end of the one who started it reaches it; `arena stop`, or a
    command left in the store, stops it. Where it can, it tells its events as JSON objects, of which
    that of the type `begun` names the `tournament`.

    Args:
        argv: what would stand behind `arena` on a command line, as `["tournament", "mcts", "minimax"]`.
        db: path of the store; None for the usual place.

    Raises:
        ArenaError: the log cannot be written, or the process cannot be started.
    """
    extra = ["--db", str(store_path(db))] if db is not None else []
    if argv and argv[0] in WITH_FORMAT and "--format" not in argv:
        extra += ["--format", "ndjson"]
    # Options go before the bots, which may end with `--`.
    num = 2 if argv[:1] == ["ladder"] else 1
    command = own_python("-m", "arena", *argv[:num], *extra, *argv[num:])
    log = _new_log(argv[0] if argv else "arena")
    # It shares the cgroup of this process, which it could not divide by itself.
    own_subtree()
    try:
        with log.open("ab") as output:
            process = subprocess.Popen(  # noqa: S603 - this interpreter, arguments as a list
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
    except OSError as error:
        raise ArenaError(f"cannot start {' '.join(command[:5])}: {error.strerror or error}") from error
    _running[:] = [one for one in (*_running, process) if one.poll() is None]
    return Launched(process, tuple(command), log)


def _new_log(name: str) -> Path:
    """Make an empty log with a name of its own.

    Raises:
        ArenaError: it cannot be made.
    """
    folder = home() / "logs" / "started"
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    path = folder / f"{stamp}-{name}-{os.getpid()}-{time.monotonic_ns() % 1_000_000:06}.log"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.touch(exist_ok=False)
    except OSError as error:
        raise ArenaError(
            f"cannot write {path}: {error.strerror}; set ARENA_HOME to another folder"
        ) from error
    return path

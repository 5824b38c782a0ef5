"""Client of a coordinator: starts one, waits until it plays, sends it commands."""

from __future__ import annotations

import os
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec

from arena.coordinator.commands import AbortRun, AskHint, ResignMatch, StopRun, kind_of, to_row
from arena.coordinator.holder import heard_of, held_by, nobody_runs
from arena.errors import ArenaError
from arena.home import has_store, home, open_store, store_argument
from arena.live.tournament_views import num_command
from arena.own_python import own_python
from arena.results.tournament_states import refusal_of
from arena_db.owner import process
from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from arena.coordinator.commands import Command
    from arena_db.owner import Owner
    from arena_db.records import TournamentRecord
    from arena_db.store import Store

WITH_FORMAT = frozenset({"tournament", "match", "test", "resume", "ladder"})
"""Commands that print their events as JSON objects with `--format ndjson`."""
ANSWER_S: Final = 5.0
"""Seconds to wait for the answer to a command; a live coordinator polls ten times in this time."""
HINT_S: Final = 60.0
"""Seconds to wait for a hint, for which a bot has to search."""
_LOOK_S: Final = 0.05
"""Seconds between two polls of the store."""
_HOLDER_S: Final = 1.0
"""Seconds between two checks of whether the holder of a lease still runs."""
_MAX_TAIL = 1 << 13
"""Maximum bytes read at either end of a log: JSON comes first, the reason for the end last."""
_MAX_LINE = 500
"""Maximum characters of a quoted log line, which a bot could make as long as the screen."""
_running: list[subprocess.Popen[bytes]] = []
"""Started processes that may outlive their caller; Python warns when a running Popen is deleted."""


class NotStartedError(ArenaError):
    """A coordinator ended before its tournament began; `status` is its exit status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class _StartLine(msgspec.Struct):
    type: str = ""
    news: tuple[str, ...] = ()


class Launched:
    """A started process with its tournament and its log."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        owner: Owner,
        command: tuple[str, ...],
        *,
        log: Path,
        db: str | None,
    ) -> None:
        """Wrap a process that `start` has started."""
        self.command = command
        """Program and arguments, as they were run."""
        self.log = log
        """File with all its output."""
        self.pid = process.pid
        self.db = db
        """Path of the store; None for the default."""
        self._process = process
        self._owner = owner
        self._event = 0

    def poll(self) -> int | None:
        """Return the exit status of the process; None while it runs."""
        return self._process.poll()

    def end(self) -> None:
        """Terminate the process; the tournament stays stored and can be resumed."""
        with suppress(ProcessLookupError):
            self._process.terminate()

    def event(self) -> TournamentRecord | None:
        """Return the tournament that the process holds, or held last; None until it has claimed one."""
        # The process may still have to create or upgrade the store.
        with suppress(ArenaError):
            if has_store(self.db):
                with open_store(self.db, read_only=True, create=False) as store:
                    return store.tournaments.find(self._event) if self._event else self._find(store)
        return None

    def news(self) -> tuple[str, ...]:
        """Return what the process reported about its bots before the tournament began, a sentence each."""
        for line in self._read(0, _MAX_TAIL).splitlines():
            with suppress(msgspec.DecodeError):
                found = msgspec.json.decode(line, type=_StartLine)
                if found.type == "begun":
                    return found.news
        return ()

    def complaint(self) -> str:
        """Return the last line of output that is not an event, the reason if the process failed.

        Empty if there is none.
        """
        size = self.log.stat().st_size if self.log.exists() else 0
        lines = self._read(max(0, size - _MAX_TAIL), _MAX_TAIL).decode("utf-8", "replace").splitlines()
        said = [line for line in lines if line.strip() and not line.startswith("{")]
        return clean_text(said[-1], _MAX_LINE) if said else ""

    def _find(self, store: Store) -> TournamentRecord | None:
        record = store.leases.last_claim(self._owner)
        self._event = 0 if record is None else record.id
        return record

    def _read(self, start: int, length: int) -> bytes:
        try:
            with self.log.open("rb") as file:
                file.seek(start)
                return file.read(length)
        except OSError:  # the logs were deleted
            return b""


def start(words: Sequence[str], *, db: str | None = None) -> Launched:
    """Run a command of the arena that plays, in the background and in a session of its own.

    The process has no terminal, so neither Ctrl-C nor the end of its parent reaches it; a command stops it.
    `follow` waits until it plays.

    Args:
        words: the arguments of the command `arena`, such as `["tournament", "mcts", "minimax"]`.
        db: path of the store; None for the default.

    Raises:
        ArenaError: the log cannot be written, or the process cannot be started.
    """
    # Imported here: viewers start nothing and do not need control groups.
    from arena.sandbox.limits.exact import own_subtree

    extra = ["--db", store_argument(db)] if db is not None else []
    if words and words[0] in WITH_FORMAT and "--format" not in words:
        extra += ["--format", "ndjson"]
    # Options go before the bots, which may end with `--`.
    num = num_command(words)
    command = own_python("-m", "arena", *words[:num], *extra, *words[num:])
    log = _new_log(words[0] if words else "arena")
    # It inherits the cgroup of this process, which it could not divide by itself.
    own_subtree()
    try:
        with log.open("ab") as output:
            started = subprocess.Popen(  # noqa: S603 - this interpreter, arguments as a list
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
    except OSError as error:
        raise ArenaError(f"cannot start {' '.join(command[:6])}: {error.strerror or error}") from error
    _running[:] = [one for one in (*_running, started) if one.poll() is None]
    return Launched(started, process(started.pid), tuple(command), log=log, db=db)


def follow(launched: Launched, is_wanted: Callable[[], bool] = lambda: True) -> TournamentRecord:
    """Wait until a started process has stored the plan of its tournament; return the tournament.

    Args:
        launched: as `start` returned it; it may have ended since.
        is_wanted: whether the caller still waits; if it does not, the process continues all the same.

    Raises:
        NotStartedError: it ended before that, or the caller no longer waits; the text says why.
    """
    while True:
        # In this order, so that a status written just before the exit is read.
        status = launched.poll()
        record = launched.event()
        if record is not None and record.has_begun:
            return record
        if status is not None:
            refused = "" if record is None else refusal_of(record)
            said = refused or launched.complaint().removeprefix("arena: ")
            why = said or f"it ended with exit status {status} and no message; see {launched.log}"
            raise NotStartedError(why, status)
        if not is_wanted():
            raise NotStartedError("the wait was cancelled", 1)
        time.sleep(_LOOK_S)


def attach(db: str | None, name: int | str) -> TournamentRecord | None:
    """Return the tournament with an id or name if a living process holds it, otherwise None.

    Args:
        db: path of the store; None for the default.
        name: id or name of the tournament.
    """
    with suppress(ArenaError), open_store(db, read_only=True, create=False) as store:
        record = store.tournaments.find(name)
        if record is not None and _is_held(store, record):
            return record
    return None


def ask(
    db: str | None,
    event: int | str,
    command: Command,
    *,
    is_wanted: Callable[[], bool] = lambda: True,
    tell: Callable[[str], None] = lambda _: None,
) -> str:
    """Send a command to the process that runs a tournament, and return its answer.

    It waits 5 s for the answer, 60 s for a hint. Without one it returns a text that names the process and
    when it last wrote.

    Args:
        db: path of the store; None for the default.
        event: id or name of the tournament.
        command: the command.
        is_wanted: whether the caller still waits for the answer.
        tell: called when the command was sent.

    Raises:
        ArenaError: the tournament is not being run, or its holder has been silent for 30 s: the text names it
            and says what to do. Or the store cannot be read or written.
    """
    with open_store(db, read_only=True, create=False) as store:
        record = store.tournaments.find(event)
        if record is None:
            raise ArenaError(f"{event} is no longer in {store.place}")
        if not _is_held(store, record):
            raise ArenaError(nobody_runs(record))
        # Read-only is enough: `ask` writes the command through a connection of its own.
        number = store.commands.send(record.id, *to_row(command))
        tell(f"asked to {kind_of(command)}")
        now = time.monotonic()
        end, next_look = now + (HINT_S if isinstance(command, AskHint) else ANSWER_S), now + _HOLDER_S
        while is_wanted() and (now := time.monotonic()) < end:
            found = store.commands.find(number)
            if found is not None and found.answered_at is not None:
                return found.answer
            if now >= next_look:
                next_look = now + _HOLDER_S
                if not _is_held(store, record):
                    break
            time.sleep(_LOOK_S)
        return _unanswered(store, record)


def _unanswered(store: Store, record: TournamentRecord) -> str:
    """Return a text that says which process has not answered yet.

    Raises:
        ArenaError: there will be none.
    """
    lease = store.leases.find(record.id)
    if lease is None or not lease.is_alive:
        raise ArenaError(nobody_runs(record))
    if lease.is_silent:
        raise ArenaError(held_by(record, lease))
    return f"no answer yet from {heard_of(lease)}, which looks for commands before its next move"


def _is_held(store: Store, record: TournamentRecord) -> bool:
    lease = store.leases.find(record.id)
    return lease is not None and lease.is_alive


class Link:
    """Connects the screen of a person to the coordinator of their matches.

    Its callers are threads that may block.
    """

    def __init__(self, db: str | None, words: Sequence[str]) -> None:
        """Prepare a session; nothing is started yet.

        Args:
            db: path of the store; None for the default.
            words: the command of the coordinator; for a stored session the result of `again`.
        """
        self.db = db
        """Path of the store; None for the default."""
        self.record: TournamentRecord | None = None
        """The stored session, once it has begun."""
        self.news: tuple[str, ...] = ()
        """What the coordinator reported about the bot when the session began, a sentence each."""
        self.first_match = 1
        """Number of the first match of this link's coordinator. Viewers may still see an earlier match
        running if its coordinator was killed."""
        self._words = list(words)
        self._launched: Launched | None = None
        self._is_held = False
        self._next_look = 0.0

    @staticmethod
    def again(name: str) -> list[str]:
        """Return the command that continues a stored play."""
        return ["play", "--headless", "--attach", name]

    @property
    def is_alive(self) -> bool:
        """Whether the coordinator that was started or found still runs."""
        if self._launched is not None:
            return self._launched.poll() is None
        if self.record is None:
            return False
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + _HOLDER_S
            self._is_held = attach(self.db, self.record.id) is not None
        return self._is_held

    def begin(self, is_wanted: Callable[[], bool] = lambda: True) -> TournamentRecord:
        """Start a coordinator and wait until the session is stored; continue one that has begun before.

        A stored session may have a living coordinator if only its screen was killed.

        Raises:
            NotStartedError: the coordinator ended; the text says why.
            ArenaError: it cannot be started.
        """
        words = self._words if self.record is None else self.again(self.record.name)
        if words == self.again(words[-1]):
            if (held := attach(self.db, words[-1])) is not None:
                self.record, self._launched = held, None
                return held
            # Read before the start: the coordinator holds the session before it has planned the next match.
            self.first_match = 1 + self._count_matches(words[-1])
        launched = start(words, db=self.db)
        try:
            self.record = follow(launched, is_wanted)
        except NotStartedError:
            # No screen is left to end the coordinator, which would hold the session for minutes.
            launched.end()
            raise
        self._launched, self.news = launched, launched.news()
        return self.record

    def _count_matches(self, name: str) -> int:
        """Return the number of matches of a stored session; 0 if there is none."""
        with suppress(ArenaError), open_store(self.db, read_only=True, create=False) as store:
            record = store.tournaments.find(name)
            return 0 if record is None else record.num_planned
        return 0

    def ask(self, command: Command, is_wanted: Callable[[], bool] = lambda: True) -> str:
        """Send a command and return its answer, or the text without one; see `ask`.

        Raises:
            ArenaError: the command cannot be sent, or will not be answered.
        """
        if self.record is None:
            return "the session has not begun"
        return ask(self.db, self.record.id, command, is_wanted=is_wanted)

    def leave(self, *, number: int, is_rated: bool) -> None:
        """End the session without waiting for it: a rated match is resigned, any other one does not count."""
        if self.record is None or not self.is_alive:
            return
        with suppress(ArenaError), open_store(self.db, read_only=True, create=False) as store:
            # Commands are executed in the order they were sent, so the match is resigned before the run
            # stops.
            if is_rated:
                store.commands.send(self.record.id, *to_row(ResignMatch(number=number, ply=0)))
            store.commands.send(self.record.id, *to_row(StopRun() if is_rated else AbortRun()))


def _new_log(name: str) -> Path:
    """Create an empty log with a name of its own.

    Raises:
        ArenaError: it cannot be created.
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

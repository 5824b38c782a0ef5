"""Keeps the write-ahead log of a store short, as far as its readers let it."""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arena_db.backend.lite.engine import FileSettings


LIMIT: Final = 32 << 20
"""Bytes of a log after which a writer waits for the readers. SQLite starts a log anew when nobody reads it,
and of many readers one always does."""
WARNED_AT: Final = 48 << 20
"""Bytes of a log after which a wait in vain is told of."""
BOUND: Final = 64 << 20
"""Bytes of a log up to which waits follow its growth; a reader that kept it up to here stands still."""
STEP: Final = 4 << 20
"""Bytes a log grows from one wait in vain to the next, below the bound."""
WAIT_MS: Final = 250
WAITS: Final = 8
"""How long and how often readers are waited for, at most. Short waits get through where a long one does not:
SQLite waits for a place that readers may take over from one another, though only the first of them is in the
way (`walCheckpoint` in its wal.c)."""
PAUSE: Final = 10
"""From a wait in vain to the next, as its multiple, above the bound: a reader that stands still must not stop
the writers."""

_LOCKS: Final = Path("/proc/locks")
_READ_LOCKS: Final = range(123, 128)
"""Bytes of the shared memory that readers lock (https://www.sqlite.org/walformat.html#locks)."""


class Log:
    """The log of one store, as those see it who write through one process."""

    def __init__(self, settings: FileSettings) -> None:
        """Take how the store is opened."""
        self._settings = settings
        self._path = settings.place.with_name(settings.place.name + "-wal")
        self._next_size = LIMIT
        self._next_time = 0.0
        self._has_warned = False
        self._warnings: list[str] = []

    def take_warnings(self) -> list[str]:
        """Return what people should know, each text once."""
        taken, self._warnings = self._warnings, []
        return taken

    def tend(self, raw: Any) -> None:  # noqa: ANN401 — a connection of one of two libraries
        """Fold the log back if it is long, with the connection that has just written; never fail.

        What was committed is durable, whatever becomes of the log.
        """
        with suppress(self._settings.driver.module.Error):
            self._tend(raw)

    def _tend(self, raw: Any) -> None:  # noqa: ANN401 — see above
        size = self._size()
        if size < LIMIT:
            self._next_size, self._has_warned = LIMIT, False
        if size >= self._next_size or (size >= BOUND and monotonic() >= self._next_time):
            raw.execute(f"PRAGMA busy_timeout={WAIT_MS}").fetchall()
            if not any(_fold_back(raw) for _ in range(WAITS)):
                self._wait_again(size)
        elif self._settings.driver.single_writer:
            raw.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def _wait_again(self, size: int) -> None:
        self._next_size = size + STEP if size < BOUND else 1 << 63
        self._next_time = monotonic() + PAUSE * WAITS * WAIT_MS / 1000
        if size >= WARNED_AT and not self._has_warned:
            self._has_warned = True
            text = self._warning(size)
            self._warnings.append(text)
            logging.getLogger(__name__).info(text)

    def _warning(self, size: int) -> str:
        readers = [str(pid) for pid in readers_of(self._settings.place)]
        who = f"process {' or '.join(readers)}" if readers else "another program"
        return (
            f"{self._path} has grown to {size >> 20} MiB, because {who} has been reading the store without "
            "a break; nothing is lost, but the log grows until that reader closes the store or is stopped"
        )

    def _size(self) -> int:
        try:
            return self._path.stat().st_size
        except FileNotFoundError:
            return 0


def _fold_back(raw: Any) -> bool:  # noqa: ANN401 — see above
    """Bring all of the log into the file and start it anew; tell whether the readers let it."""
    (is_vain, *_) = raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not is_vain


def readers_of(path: Path) -> list[int]:
    """Return the processes that are reading a store at this moment, as far as this system tells."""
    try:
        shared = path.with_name(path.name + "-shm").stat()
        lines = _LOCKS.read_text().splitlines()
    except OSError:
        return []
    place = f"{os.major(shared.st_dev):02x}:{os.minor(shared.st_dev):02x}:{shared.st_ino}"
    return sorted(set(_readers(lines, place)))


def _readers(lines: list[str], place: str) -> Iterator[int]:
    for line in lines:
        # number, POSIX, ADVISORY, READ, process, device and inode, first byte, last byte
        fields = line.replace("->", "").split()
        if fields[3] == "READ" and fields[5] == place and int(fields[4]) > 0:
            last = _READ_LOCKS.stop if fields[7] == "EOF" else int(fields[7])
            if int(fields[6]) < _READ_LOCKS.stop and last >= _READ_LOCKS.start:
                yield int(fields[4])

"""Keeps the write-ahead log of a store short, as far as its readers permit."""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arena_db.backend.sqlite.engine import FileSettings


LIMIT: Final = 32 << 20
"""Bytes of a log from which a writer waits for the readers. SQLite resets a log when nobody reads it, and
with many readers there is always one."""
WARNED_AT: Final = 48 << 20
"""Bytes of a log from which a failed wait causes a warning."""
BOUND: Final = 64 << 20
"""Bytes of a log below which waits depend on its growth; above it, a reader has blocked the reset for
long."""
STEP: Final = 4 << 20
"""Growth of a log in bytes between two failed waits, below `BOUND`."""
WAIT_MS: Final = 250
WAITS: Final = 8
"""Milliseconds of one wait for the readers, and maximum number of waits. Several short waits succeed where a
long one does not: SQLite waits for a lock that readers may pass to one another, although only the first of
them is in the way (`walCheckpoint` in its wal.c)."""
PAUSE: Final = 10
"""Ratio of the pause after failed waits to their total length, above `BOUND`: a reader that hangs must not
stop the writers."""

_LOCKS: Final = Path("/proc/locks")
_READ_LOCKS: Final = range(123, 128)
"""Bytes of the shared memory that readers lock (https://www.sqlite.org/walformat.html#locks)."""


class Log:
    """The write-ahead log of one store, from the view of one writing process."""

    def __init__(self, settings: FileSettings) -> None:
        """Keep the settings of the store; no file is opened."""
        self._settings = settings
        self._path = settings.place.with_name(settings.place.name + "-wal")
        self._next_size = LIMIT
        self._next_time = 0.0
        self._has_warned = False
        self._warnings: list[str] = []

    def take_warnings(self) -> list[str]:
        """Return warnings for people, each text once."""
        taken, self._warnings = self._warnings, []
        return taken

    def tend(self, raw: Any) -> None:  # noqa: ANN401 — a connection of one of two libraries
        """Checkpoint the log if it is long, on the connection that has just written; never raise.

        Committed data is durable, whether or not the checkpoint succeeds.
        """
        with suppress(self._settings.driver.module.Error):
            self._tend(raw)

    def _tend(self, raw: Any) -> None:  # noqa: ANN401 — see above
        size = self._size()
        if size < LIMIT:
            self._next_size, self._has_warned = LIMIT, False
        if size >= self._next_size or (size >= BOUND and monotonic() >= self._next_time):
            raw.execute(f"PRAGMA busy_timeout={WAIT_MS}").fetchall()
            # Stops at the first attempt that succeeds.
            if not any(_fold_back(raw) for _ in range(WAITS)):
                self._wait_again(size)
        elif self._settings.driver.single_writer:
            raw.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def _wait_again(self, size: int) -> None:
        # Above the bound only time decides when to wait again.
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
    """Copy the whole log into the file and reset it; return whether the readers permitted it."""
    (is_vain, *_) = raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not is_vain


def readers_of(path: Path) -> list[int]:
    """Return the ids of processes that are reading a store now, as far as the system tells."""
    try:
        shared = path.with_name(path.name + "-shm").stat()
        lines = _LOCKS.read_text().splitlines()
    except OSError:
        return []
    place = f"{os.major(shared.st_dev):02x}:{os.minor(shared.st_dev):02x}:{shared.st_ino}"
    return sorted(set(_readers(lines, place)))


def _readers(lines: list[str], place: str) -> Iterator[int]:
    for line in lines:
        # Fields: number, POSIX, ADVISORY, READ, process, device and inode, first byte, last byte.
        fields = line.replace("->", "").split()
        if fields[3] == "READ" and fields[5] == place and int(fields[4]) > 0:
            last = _READ_LOCKS.stop if fields[7] == "EOF" else int(fields[7])
            if int(fields[6]) < _READ_LOCKS.stop and last >= _READ_LOCKS.start:
                yield int(fields[4])

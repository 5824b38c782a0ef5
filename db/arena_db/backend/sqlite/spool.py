"""Keeps results in files beside a locked store, until a writer can store them."""

from __future__ import annotations

from contextlib import suppress
from time import time_ns
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from sqlalchemy import exists, select

from arena_db import saving
from arena_db.errors import RefusedError
from arena_db.failures import translated
from arena_db.fence import present_epoch
from arena_db.files import sweep_parts, sync_folder, write_durably
from arena_db.models import matches, planned
from arena_db.spool_lines import decode, encode, uid_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from sqlalchemy import Connection

    from arena_db.records import MatchRecord
    from arena_db.spool_lines import SpoolLine

_SUFFIX: Final = ".jsonl"
_REFUSED: Final = ".refused"
_TRIES: Final = 10
"""Maximum number of attempts: another process may remove the empty folder before a file is written into
it."""
_CHUNK: Final = 500
"""Number of results that are stored together; one by one they take three times as long."""


class Spool:
    """Results that wait in a folder beside a store: files of one record per line, each written atomically.

    A file is removed after its records were committed. A process that ends in between leaves a file whose
    records are stored already, and a stored match is never stored again, so every result is stored exactly
    once.
    """

    def __init__(self, path: Path) -> None:
        """Keep the path of the store; no file is opened."""
        self._path = path
        self.folder = path.with_name(path.name + "-spool")
        """The folder of the files; it exists only while results wait, or were refused."""

    def waiting(self) -> list[Path]:
        """Return the files to be stored, oldest first."""
        return self._files(_SUFFIX)

    def refused(self) -> list[Path]:
        """Return the files with records that the store refused."""
        return self._files(_REFUSED)

    def num_waiting(self) -> int:
        """Return the number of waiting results."""
        total = 0
        for file in self.waiting():
            # Another process may have stored and removed the file meanwhile.
            with suppress(FileNotFoundError):
                total += file.read_bytes().count(b"\n")
        return total

    def keep(self, records: Sequence[MatchRecord], epoch: int | None = None) -> Path:
        """Write records durably to a new file; return its path.

        Args:
            records: matches to be stored later.
            epoch: epoch of the claim under which they were played; None outside a run.

        Raises:
            OSError: they cannot be written.
        """
        content = b"".join(encode(record, epoch) for record in records)
        # The last attempt is outside the loop: its error is the caller's.
        for _ in range(_TRIES):
            with suppress(FileNotFoundError):
                return self._write(content)
        return self._write(content)

    def store(self, connection: Connection, *, claimed: int | None = None) -> list[tuple[Path, bool]]:
        """Store the waiting results; return the files, and whether all records of each were accepted.

        A result of a replaced run is stored only if its match has none yet. While the new run is active, the
        result is not stored at all, because that run may be playing the match right now. Such a result was
        never reported: a result that was reported is stored, or its file was there when the new run claimed
        the tournament, which stores such files.

        Args:
            connection: holds the write lock.
            claimed: id of the tournament that the caller has just claimed and is not playing yet.
        """
        done: list[tuple[Path, bool]] = []
        for file in self.waiting():
            # A file that is gone was stored by another process.
            with suppress(FileNotFoundError):
                done.append((file, self._store_lines(connection, file.read_bytes().splitlines(), claimed)))
        return done

    def discard(self, done: Iterable[tuple[Path, bool]]) -> None:
        """Remove files whose records are committed; rename those with a refused record."""
        for file, is_whole in done:
            with suppress(FileNotFoundError):
                if is_whole:
                    file.unlink()
                else:
                    file.replace(file.with_suffix(_REFUSED))
        # The folder stays while other files wait in it.
        with suppress(OSError):
            sweep_parts(self.folder)
            self.folder.rmdir()

    def _write(self, content: bytes) -> Path:
        self.folder.mkdir(exist_ok=True)
        # Twenty digits, so that names sort by time and older results are stored first.
        file = self.folder / f"{time_ns():020}-{uuid4().hex}{_SUFFIX}"
        write_durably(file, content)
        # The folder may be new, too.
        sync_folder(self.folder.parent)
        return file

    def _store_lines(self, connection: Connection, lines: Sequence[bytes], claimed: int | None) -> bool:
        """Store the records of a file; return whether each is stored now, or need not be."""
        is_whole = True
        for start in range(0, len(lines), _CHUNK):
            due: list[MatchRecord] = []
            for line in lines[start : start + _CHUNK]:
                found = _read(line)
                # A line of a rescue file that was put into this folder by hand: its id of the tournament is
                # that of the lost store.
                if found is None or not _is_of(connection, found):
                    is_whole = False
                elif _may_store(connection, found, claimed):
                    due.append(found.record)
                else:
                    is_whole &= _is_done(connection, found.record)
            is_whole &= self._save(connection, due)
        return is_whole

    def _save(self, connection: Connection, records: Sequence[MatchRecord]) -> bool:
        """Store records together; if one of them is refused, store the others one by one."""
        try:
            # A savepoint, so that a refused record does not roll back the others.
            with translated(self._path), connection.begin_nested():
                saving.save(connection, records)
        except (RefusedError, LookupError, ValueError, TypeError):
            # A list, not a generator, so that every record is tried, even after one was refused.
            taken = [self._save(connection, [record]) for record in records] if len(records) > 1 else [False]
            return all(taken)
        return True

    def _files(self, suffix: str) -> list[Path]:
        try:
            return sorted(file for file in self.folder.iterdir() if file.suffix == suffix)
        except FileNotFoundError:
            return []


def _read(line: bytes) -> SpoolLine | None:
    try:
        return decode(line)
    except (LookupError, ValueError, TypeError):
        return None


def _is_of(connection: Connection, line: SpoolLine) -> bool:
    """Return whether the tournament with the id of a result is the one that the result was played for."""
    return not line.uid or uid_of(connection, line.record.tournament) == line.uid


def _may_store(connection: Connection, line: SpoolLine, claimed: int | None) -> bool:
    """Return whether no other run may be playing the match of a result."""
    if line.epoch is None or line.record.tournament == claimed:
        return True
    epoch, is_held = present_epoch(connection, line.record.tournament)
    # A result of an earlier claim waits until no run holds the tournament.
    return line.epoch >= epoch or not is_held


def _is_done(connection: Connection, record: MatchRecord) -> bool:
    """Return whether a match has its final result, or this attempt is stored."""
    own = (planned.c.tournament_id == record.tournament) & (planned.c.number == record.number)
    attempt = (matches.c.tournament_id == record.tournament) & (matches.c.number == record.number)
    is_there = exists().where(attempt, matches.c.attempt == record.attempt)
    return (
        connection.execute(
            select(planned.c.number).where(own, (planned.c.state == "done") | is_there)
        ).first()
        is not None
    )

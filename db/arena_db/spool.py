"""Keeps results beside a store that is locked, until a writer can store them."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from contextlib import suppress
from dataclasses import asdict
from time import time_ns
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from arena_db import saving
from arena_db.errors import RefusedError
from arena_db.failures import translated
from arena_db.files import sync_folder, write_durably
from arena_db.records import MatchRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from sqlalchemy import Connection

_SUFFIX: Final = ".jsonl"
_REFUSED: Final = ".refused"
_TRIES: Final = 10
"""Another process may remove the empty folder between making it and writing to it."""


class Spool:
    """Results that wait in a folder beside a store: files of one record a line, each written once and whole.

    Whoever stores a file removes it after the commit. A process that ends in between leaves a file that is
    stored already, and a stored match is never stored again, so every result is stored exactly once.
    """

    def __init__(self, path: Path) -> None:
        """Take the path of the store."""
        self._path = path
        self.folder = path.with_name(path.name + "-spool")
        """Is there only while something waits, or was refused."""

    def waiting(self) -> list[Path]:
        """Return the files that are to be stored, oldest first."""
        return self._files(_SUFFIX)

    def refused(self) -> list[Path]:
        """Return the files of which the store did not take every record."""
        return self._files(_REFUSED)

    def num_waiting(self) -> int:
        """Return how many results wait."""
        total = 0
        for file in self.waiting():
            # Another process may have stored it meanwhile.
            with suppress(FileNotFoundError):
                total += file.read_bytes().count(b"\n")
        return total

    def keep(self, records: Sequence[MatchRecord]) -> None:
        """Return when the records are on the disk.

        Raises:
            OSError: they cannot be written.
        """
        content = "".join(json.dumps(_fields(record)) + "\n" for record in records).encode()
        for _ in range(_TRIES):
            with suppress(FileNotFoundError):
                self._write(content)
                return
        self._write(content)

    def store(self, connection: Connection) -> list[tuple[Path, bool]]:
        """Store what waits; return the files, and whether all records of each were taken."""
        done: list[tuple[Path, bool]] = []
        for file in self.waiting():
            with suppress(FileNotFoundError):
                taken = [self._store_line(connection, line) for line in file.read_bytes().splitlines()]
                done.append((file, all(taken)))
        return done

    def discard(self, done: Iterable[tuple[Path, bool]]) -> None:
        """Remove files whose records are committed; one with a refused record stays under another name."""
        for file, is_whole in done:
            with suppress(FileNotFoundError):
                if is_whole:
                    file.unlink()
                else:
                    file.replace(file.with_suffix(_REFUSED))
        with suppress(OSError):
            self.folder.rmdir()

    def _write(self, content: bytes) -> None:
        self.folder.mkdir(exist_ok=True)
        write_durably(self.folder / f"{time_ns():020}-{uuid4().hex}{_SUFFIX}", content)
        sync_folder(self.folder.parent)

    def _store_line(self, connection: Connection, line: bytes) -> bool:
        try:
            with translated(self._path), connection.begin_nested():
                saving.save(connection, [_record(json.loads(line))])
        except (RefusedError, LookupError, ValueError, TypeError):
            return False
        return True

    def _files(self, suffix: str) -> list[Path]:
        try:
            return sorted(file for file in self.folder.iterdir() if file.suffix == suffix)
        except FileNotFoundError:
            return []


def _fields(record: MatchRecord) -> dict[str, Any]:
    return asdict(record) | {"remarks": b64encode(record.remarks).decode()}


def _record(fields: dict[str, Any]) -> MatchRecord:
    lists: dict[str, Any] = {name: tuple(fields[name]) for name in ("actions", "times_ms", "values")}
    # An older version of the arena may have left the file, and knew of no remarks.
    lists["remarks"] = b64decode(fields.get("remarks", ""), validate=True)
    return MatchRecord(**(fields | lists))

"""Notices that the files of an open store were removed, moved or replaced under the process that writes it.

An open file is no longer the one of its name then: what is written to it may be gone with it, or lies where
nobody looks, while every commit succeeds.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from arena_db.errors import MovedError

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOGS: Final = ("-wal", "-shm")
"""Beside the file: the log takes the commits, the index of the log tells other processes of them."""
_OPEN_FILES: Final = Path("/proc/self/fd")


_Identity: TypeAlias = tuple[int, int]
"""Device and inode: what tells a file from every other one that exists at the same time."""


class StorePlace:
    """The files of a store as they were when it was opened.

    Only names are looked at, and no file is opened: closing a second descriptor of a file would drop the
    locks that SQLite holds on it (https://www.sqlite.org/howtocorrupt.html, 2.2).
    """

    def __init__(self, path: Path) -> None:
        """Remember which file has this name now."""
        self._path = path
        self._known: dict[str, _Identity | None] = {str(path): _identity(str(path))}

    def hold(self) -> None:
        """Remember the log as well: it stays the same as long as a connection of this process is open.

        Raises:
            MovedError: the file is not the one that was opened.
        """
        self.check()
        for suffix in _LOGS:
            name = f"{self._path}{suffix}"
            self._known[name] = _identity(name)

    def check(self) -> None:
        """Return if every name still is that of the file it was; takes some microseconds.

        Raises:
            MovedError: a file was removed, moved or replaced; says which, and where it is now if known.
        """
        for name, known in self._known.items():
            found = _identity(name)
            if found != known and known is not None:
                error = MovedError(f"{name} was {_fate(known, is_there=found is not None)}")
                error.is_replaced = found is not None
                raise error


def _identity(name: str) -> _Identity | None:
    try:
        found = os.stat(name)  # noqa: PTH116 - a Path takes three times as long, and this is done at each save
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _fate(known: _Identity, *, is_there: bool) -> str:
    """Say what became of a file that this process has open."""
    where = next(_names_of(known), "")
    if is_there:
        return f"replaced by another file{where and f' and is {where} now'}"
    return f"moved to {where}" if where else "removed"


def _names_of(known: _Identity) -> Iterator[str]:
    """Yield the present names of an open file, as far as this system tells them (Linux)."""
    with suppress(OSError):
        for descriptor in _OPEN_FILES.iterdir():
            with suppress(OSError):
                found = descriptor.stat()
                if (found.st_dev, found.st_ino) == known and found.st_nlink:
                    yield str(descriptor.readlink())

"""Detects that the files of an open store were removed, moved or replaced under the writing process.

An open file then no longer has its name: data written to it may be lost with it, or ends up under a name that
is not used, while every commit succeeds.
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
"""Files beside the store: the log receives the commits, its index tells other processes about them."""
_OPEN_FILES: Final = Path("/proc/self/fd")


_Identity: TypeAlias = tuple[int, int]
"""Device and inode, which identify a file among all files that exist at the same time."""


class StorePlace:
    """The identities of the files of a store when it was opened.

    Only names are examined, and no file is opened: closing a second descriptor of a file would release the
    locks that SQLite holds on it (https://www.sqlite.org/howtocorrupt.html, 2.2).
    """

    def __init__(self, path: Path) -> None:
        """Record which file has this name now."""
        self._path = path
        self._known: dict[str, _Identity | None] = {str(path): _identity(str(path))}

    def hold(self) -> None:
        """Record the log as well: it stays the same while a connection of this process is open.

        Raises:
            MovedError: the file is not the one that was opened.
        """
        self.check()
        for suffix in _LOGS:
            name = f"{self._path}{suffix}"
            self._known[name] = _identity(name)

    def check(self) -> None:
        """Check that every name still belongs to the same file; takes some microseconds.

        Raises:
            MovedError: a file was removed, moved or replaced; the text says which, and its new name if known.
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
    """Return a phrase for what happened to a file that this process has open."""
    where = next(_names_of(known), "")
    if is_there:
        return f"replaced by another file{where and f' and is {where} now'}"
    return f"moved to {where}" if where else "removed"


def _names_of(known: _Identity) -> Iterator[str]:
    """Yield the present names of an open file, as far as the system tells (Linux)."""
    with suppress(OSError):
        for descriptor in _OPEN_FILES.iterdir():
            with suppress(OSError):
                found = descriptor.stat()
                if (found.st_dev, found.st_ino) == known and found.st_nlink:
                    yield str(descriptor.readlink())

"""A file system that records everything written to it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import apsw

if TYPE_CHECKING:
    from collections.abc import Callable


class Write(NamedTuple):
    """Bytes written to a file."""

    file: str
    offset: int
    data: bytes


class Truncate(NamedTuple):
    """A file truncated to a size."""

    file: str
    size: int


class Sync(NamedTuple):
    """All of a file synced to disk."""

    file: str


class Delete(NamedTuple):
    """A file deleted."""

    file: str


class Mark(NamedTuple):
    """The caller has been informed that this many transactions are stored."""

    num: int


Op = Write | Truncate | Sync | Delete | Mark


class Recorder(apsw.VFS):
    """Writes through to the real file system, and records each operation."""

    def __init__(self, name: str) -> None:
        super().__init__(name, "")
        self.ops: list[Op] = []

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - apsw's name
        return _File(self.ops.append, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: FBT001, N802 - apsw's name
        self.ops.append(Delete(Path(filename).name))
        super().xDelete(filename, syncdir)


class _File(apsw.VFSFile):
    def __init__(
        self, note: Callable[[Op], None], name: str | apsw.URIFilename | None, flags: list[int]
    ) -> None:
        super().__init__("", name, flags)
        path = name.filename() if isinstance(name, apsw.URIFilename) else name or ""
        self._note, self._name = note, Path(path).name

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - apsw's name
        self._note(Write(self._name, offset, bytes(data)))
        super().xWrite(data, offset)  # pyright: ignore[reportUnknownMemberType] - typed for 3.12

    def xTruncate(self, newsize: int) -> None:  # noqa: N802 - apsw's name
        self._note(Truncate(self._name, newsize))
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802 - apsw's name
        super().xSync(flags)
        self._note(Sync(self._name))

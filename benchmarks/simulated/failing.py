"""A file system of which one write, and every later one, fails until it is healed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import apsw

if TYPE_CHECKING:
    from collections.abc import Callable

KINDS: Final[dict[str, tuple[type[apsw.Error], int]]] = {
    "enospc": (apsw.FullError, apsw.SQLITE_FULL),
    "eio_write": (apsw.IOError, apsw.SQLITE_IOERR_WRITE),
    "eio_sync": (apsw.IOError, apsw.SQLITE_IOERR_FSYNC),
}
"""What SQLite's own file system says: the disk is full, a write fails, a sync fails."""


class Failing(apsw.VFS):
    """Writes through to the real file system until it is told to fail."""

    def __init__(self, name: str) -> None:
        super().__init__(name, "")
        self._kind = ""
        self._left = 0

    def arm(self, kind: str, num: int) -> None:
        """Let operation `num` from now, and all after it, fail."""
        self._kind, self._left = kind, num

    def heal(self) -> None:
        """Let nothing fail any more."""
        self._kind = ""

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - apsw's name
        return _File(self._step, name, flags)

    def _step(self, *, is_sync: bool) -> None:
        if not self._kind or is_sync != (self._kind == "eio_sync"):
            return
        self._left -= 1
        if self._left <= 0:
            error, code = KINDS[self._kind]
            failure = error(self._kind)
            vars(failure)["extendedresult"] = code
            raise failure


class _File(apsw.VFSFile):
    def __init__(
        self, step: Callable[..., None], name: str | apsw.URIFilename | None, flags: list[int]
    ) -> None:
        super().__init__("", name, flags)
        self._step = step

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - apsw's name
        self._step(is_sync=False)
        super().xWrite(data, offset)  # pyright: ignore[reportUnknownMemberType] - typed for 3.12

    def xTruncate(self, newsize: int) -> None:  # noqa: N802 - apsw's name
        self._step(is_sync=False)
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802 - apsw's name
        self._step(is_sync=True)
        super().xSync(flags)

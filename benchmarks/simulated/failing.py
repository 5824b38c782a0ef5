"""A file system in which one operation fails, once or from then on, with the error of a real one."""

from __future__ import annotations

import ctypes
import errno
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import apsw

if TYPE_CHECKING:
    from collections.abc import Callable


class Kind(NamedTuple):
    """A way to fail."""

    calls: tuple[str, ...]
    """Name of the system call; empty for syncs, which SQLite does not allow to be replaced."""
    error: int
    is_lasting: bool
    """Whether all later calls fail, too; otherwise only that one."""


_READS, _WRITES, _TRUNCATES = ("read", "pread64"), ("write", "pwrite64"), ("ftruncate",)

KINDS: Final[dict[str, Kind]] = {
    "enospc_write": Kind(_WRITES, errno.ENOSPC, is_lasting=True),
    "eio_write": Kind(_WRITES, errno.EIO, is_lasting=True),
    "eio_read": Kind(_READS, errno.EIO, is_lasting=True),
    "eio_truncate": Kind(_TRUNCATES, errno.EIO, is_lasting=True),
    "eio_sync": Kind((), errno.EIO, is_lasting=True),
    "eio_sync_once": Kind((), errno.EIO, is_lasting=False),
    "eintr_read": Kind(_READS, errno.EINTR, is_lasting=False),
    "eintr_write": Kind(_WRITES, errno.EINTR, is_lasting=False),
    "eintr_truncate": Kind(_TRUNCATES, errno.EINTR, is_lasting=False),
}

_AT_A_PLACE: Final = ctypes.CFUNCTYPE(
    ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64, use_errno=True
)
_AT_THE_END: Final = ctypes.CFUNCTYPE(
    ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, use_errno=True
)
_TO_A_SIZE: Final = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int64, use_errno=True)
_SHAPES: Final = {
    "read": _AT_THE_END,
    "pread64": _AT_A_PLACE,
    "write": _AT_THE_END,
    "pwrite64": _AT_A_PLACE,
    "ftruncate": _TO_A_SIZE,
}


class Failing(apsw.VFS):
    """Behaves as the real file system until it is switched to fail."""

    def __init__(self, name: str) -> None:
        """Insert this file system between SQLite and the system calls, until it is unregistered."""
        super().__init__(name, "unix")
        self.has_failed = False
        """Whether the operation that must fail has been reached."""
        self._kind: Kind | None = None
        self._left = 0
        # These callbacks must live as long as SQLite may call them.
        self._calls: list[Any] = [self._replace(call, shape) for call, shape in _SHAPES.items()]

    def arm(self, kind: str, num: int) -> None:
        """Make operation `num` from now fail."""
        self._kind, self._left, self.has_failed = KINDS[kind], num, False

    def heal(self) -> None:
        """Stop failing."""
        self._kind = None

    def unregister(self) -> None:
        """Restore SQLite's own system calls."""
        for call in _SHAPES:
            self.xSetSystemCall(call, 0)
        super().unregister()

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - apsw's name
        return _File(self.fails, name, flags)

    def fails(self, call: str = "") -> bool:
        """Count an operation; return whether it fails. Without a system call it is a sync."""
        kind = self._kind
        if kind is None or (call not in kind.calls if call else kind.calls):
            return False
        self._left -= 1
        if self._left > 0 or (self.has_failed and not kind.is_lasting):
            return False
        self.has_failed = True
        ctypes.set_errno(kind.error)
        return True

    def _replace(self, call: str, shape: Callable[..., Any]) -> Any:  # noqa: ANN401 - a C function of that shape
        original = shape(self.xGetSystemCall(call))

        def perform(*arguments: int) -> int:
            return -1 if self.fails(call) else original(*arguments)

        replaced = shape(perform)
        self.xSetSystemCall(call, ctypes.cast(replaced, ctypes.c_void_p).value or 0)
        return replaced


class _File(apsw.VFSFile):
    def __init__(
        self, fails: Callable[[], bool], name: str | apsw.URIFilename | None, flags: list[int]
    ) -> None:
        super().__init__("unix", name, flags)
        self._fails = fails

    def xSync(self, flags: int) -> None:  # noqa: N802 - apsw's name
        if self._fails():
            failure = apsw.IOError("disk I/O error")
            vars(failure)["extendedresult"] = apsw.SQLITE_IOERR_FSYNC
            raise failure
        super().xSync(flags)

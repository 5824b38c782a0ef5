"""The folder for temporary files of a run, removed with the run or, if that was killed, by a later one."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from arena.removal import remove

if TYPE_CHECKING:
    from collections.abc import Generator

_PREFIX = "arena-run-"
_SWEEP_S = 0.5
"""Seconds that a start may spend on removing leftovers of killed runs; later starts remove the rest."""
_known: dict[str, tuple[int, int]] = {}
"""Device and inode of each folder for temporary files, as this process last saw it."""
_recreated: list[int] = []
"""File descriptors that lock folders which this process created again; held until the process ends."""


class _OpenFolders:
    """The folders of this process that are in use: the newest is the one for temporary files.

    Threads may end theirs in any order, so no folder is within another; whenever one ends, the newest of the
    others is used. A bot that another thread started while a folder was the newest has its files in there: a
    folder with files stays until no other is in use.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._folders: list[Path] = []
        self._left: list[tuple[Path, int | None]] = []
        """Folders with files of other threads, and their locks."""
        self._usual: str | None = None

    def base(self) -> Path:
        """Return the folder for temporary files that the system has, whatever folders are in use here."""
        with self._lock:
            return Path(self._usual if self._folders and self._usual else tempfile.gettempdir())

    def add(self, folder: Path) -> None:
        """Use a folder for temporary files."""
        with self._lock:
            if not self._folders:
                self._usual = tempfile.gettempdir()
            self._folders.append(folder)
            tempfile.tempdir = str(folder)

    def discard(self, folder: Path, lock: int | None) -> list[tuple[Path, int | None]]:
        """Switch back to the newest folder in use; return the folders to be removed, with their locks."""
        with self._lock:
            # By value: another thread may have added a folder since, so this one need not be the last.
            self._folders.remove(folder)
            tempfile.tempdir = str(self._folders[-1]) if self._folders else self._usual
            if self._folders and _has_files(folder):
                self._left.append((folder, lock))
                return []
            done = [(folder, lock)]
            if not self._folders:
                done += self._left
                self._left = []
            return done


_open = _OpenFolders()


@contextmanager
def workspace() -> Generator[Path]:
    """Create a folder for temporary files of this process and its bots; remove it at the end.

    If other threads have such folders and may use files in this one, it is removed with the last of them.
    Folders of killed processes, whose locks are free, are removed first.
    """
    base = _open.base()
    _sweep(base)
    folder, lock = _make(base)
    _open.add(folder)
    try:
        yield folder
    finally:
        for done, held in _open.discard(folder, lock):
            # Before the lock is released: otherwise the sweep of another run could remove the folder, too.
            remove(done)
            if held is not None:
                os.close(held)


def recreate_workspace() -> bool:
    """Create the folder for temporary files again if it was deleted during the run.

    No bot can start without it.

    Returns:
        Whether the folder differs from the one at the last call in this process, so files of bots are gone.

    Raises:
        OSError: the folder cannot be created.
    """
    folder = tempfile.gettempdir()
    try:
        found = os.stat(folder)  # noqa: PTH116 - a Path takes three times as long, and this runs at each match
    except FileNotFoundError:
        Path(folder).mkdir(mode=0o711, parents=True, exist_ok=True)
        found = os.stat(folder)  # noqa: PTH116 - as above
    identity = (found.st_dev, found.st_ino)
    if _known.setdefault(folder, identity) == identity:
        return False
    _known[folder] = identity
    # The run's own lock is held on the deleted folder, so the next run would remove this one.
    lock = _lock(Path(folder), shared=True)
    if lock is not None:
        _recreated.append(lock)
    return True


def _has_files(folder: Path) -> bool:
    # The folder may have been deleted by others.
    with suppress(OSError):
        return any(folder.iterdir())
    return False


def _make(base: Path) -> tuple[Path, int | None]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=base))
        lock = _lock(folder)
        # Another run may have removed it between its creation and the lock.
        if folder.exists() and (lock is not None or sys.platform == "win32"):
            # When root runs the arena, bots run as other users, who must be able to reach their folders
            # inside.
            folder.chmod(0o711)
            return folder, lock
        if lock is not None:
            os.close(lock)


def _sweep(base: Path) -> None:
    deadline = time.monotonic() + _SWEEP_S
    for folder in base.glob(f"{_PREFIX}*"):
        # The lock of a folder ends with its process, so a free one says that nobody uses the folder.
        lock = _lock(folder)
        if lock is not None:
            remove(folder, deadline - time.monotonic())
            os.close(lock)


def _lock(folder: Path, *, shared: bool = False) -> int | None:
    """Lock a folder until this process ends; return None if another process holds it or it cannot be locked.

    A `shared` lock allows further shared locks but no exclusive one.
    """
    if sys.platform == "win32":
        return None
    import fcntl

    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
        else:
            return descriptor
    return None

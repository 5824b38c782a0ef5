"""The folder for temporary files of a run: it goes with the run or, if that was killed, with the next one."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from arena.removal import remove

if TYPE_CHECKING:
    from collections.abc import Generator

_PREFIX = "arena-run-"
_SWEEP_S = 0.5
"""Seconds a start may spend on what killed runs left; the starts after it go on with the rest."""
_known: dict[str, tuple[int, int]] = {}
"""Device and inode of folders for temporary files, as this process last saw them."""
_mended: list[int] = []
"""Locks of folders that this process made again; they last as long as it."""


@contextmanager
def workspace() -> Generator[Path]:
    """Let this process make its temporary files, scratch folders of bots too, in a folder that is removed.

    Folders whose process was killed are removed first: their lock is free.
    """
    before = tempfile.tempdir
    base = Path(tempfile.gettempdir())
    _sweep(base)
    folder, lock = _make(base)
    tempfile.tempdir = str(folder)
    try:
        yield folder
    finally:
        tempfile.tempdir = before
        remove(folder)
        if lock is not None:
            os.close(lock)


def mend() -> bool:
    """Make the folder for temporary files again, if somebody cleared it away under the run.

    Without it no bot could be started any more.

    Returns:
        Whether it is another one than at the last call in this process: what bots had in it is gone.

    Raises:
        OSError: it cannot be made.
    """
    folder = tempfile.gettempdir()
    try:
        found = os.stat(folder)  # noqa: PTH116 - a Path takes three times as long, and this is done at each match
    except FileNotFoundError:
        Path(folder).mkdir(mode=0o711, parents=True, exist_ok=True)
        found = os.stat(folder)  # noqa: PTH116 - as above
    identity = (found.st_dev, found.st_ino)
    if _known.setdefault(folder, identity) == identity:
        return False
    _known[folder] = identity
    # The run's own lock is on the folder that is gone, so the next run would sweep this one away.
    lock = _lock(Path(folder), shared=True)
    if lock is not None:
        _mended.append(lock)
    return True


def _make(base: Path) -> tuple[Path, int | None]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=base))
        lock = _lock(folder)
        # Before it was locked, another run may have begun to sweep it away.
        if folder.exists() and (lock is not None or sys.platform == "win32"):
            # A root's bots are other users, who must pass here to their own folders.
            folder.chmod(0o711)
            return folder, lock
        if lock is not None:
            os.close(lock)


def _sweep(base: Path) -> None:
    deadline = time.monotonic() + _SWEEP_S
    for folder in base.glob(f"{_PREFIX}*"):
        lock = _lock(folder)
        if lock is not None:
            remove(folder, deadline - time.monotonic())
            os.close(lock)


def _lock(folder: Path, *, shared: bool = False) -> int | None:
    """Lock a folder as long as this process lives; None where another has it, or it cannot be locked.

    A `shared` lock lets other processes have one, too, and none a lock of its own.
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

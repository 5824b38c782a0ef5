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


def _lock(folder: Path) -> int | None:
    """Lock a folder as long as this process lives; None where another has it, or it cannot be locked."""
    if sys.platform == "win32":
        return None
    import fcntl

    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
        else:
            return descriptor
    return None

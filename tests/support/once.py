"""Creates files that all test processes of a run share, in the first process that needs them."""

from __future__ import annotations

import fcntl
import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def make_once(folder: Path, make: Callable[[], None]) -> None:
    """Call `make` to fill a new `folder` in the first test process that comes; the others wait for it."""
    with folder.with_suffix(".lock").open("w") as lock:
        # The system drops the lock of a process that is killed; a folder without a mark is made again.
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = folder / "done"
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make()
            done.touch()


def copy_of(folder: Path, target: Path) -> Path:
    """Copy a folder that was made once into `target`, for tests that open its stores; return `target`."""
    return shutil.copytree(folder, target, dirs_exist_ok=True)

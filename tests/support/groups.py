"""Control groups for tests, where this machine has a writable cgroup v2 hierarchy."""

from __future__ import annotations

import os
import secrets
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from arena.sandbox.limits.cgroup import NoSubtreeError, own_cgroup

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path


@contextmanager
def new_group() -> Generator[Path | None]:
    """Return the folder of a new empty group below that of this process; None if none can be created."""
    group = None
    with suppress(NoSubtreeError, OSError):
        _, own = own_cgroup()
        group = own / f"arena-test-{secrets.token_hex(4)}"
        group.mkdir()
        # A group is useless if no process can be moved there.
        if not os.access(own / "cgroup.procs", os.W_OK):
            group.rmdir()
            group = None
    try:
        yield group
    finally:
        if group is not None and group.exists():
            _remove(group)


def _remove(group: Path) -> None:
    (group / "cgroup.kill").write_text("1")
    while "populated 1" in (group / "cgroup.events").read_text():
        time.sleep(0.001)
    for folder in (*group.iterdir(), group):
        if folder.is_dir():
            _remove_when_empty(folder)


def _remove_when_empty(folder: Path) -> None:
    while True:
        try:
            folder.rmdir()
        except OSError:
            time.sleep(0.001)  # a killed process is still ending
        else:
            return


def words(path: Path) -> list[str]:
    """Return the words of a file; none if it cannot be read."""
    with suppress(OSError):
        return path.read_text().split()
    return []

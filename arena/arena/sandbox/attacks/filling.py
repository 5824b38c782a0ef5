"""Attacks on the scratch folder: overfilling it, and changing it while the arena removes it."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, TypedDict

from arena.sandbox.attacks.control import HOME
from arena.sandbox.attacks.syscalls import syscall

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_AT_FDCWD = -100
_EXCHANGE = 2
_CHUNK = 1 << 16
_FILE_BYTES = 1 << 19


class Filling(TypedDict):
    """How to fill the scratch folder."""

    kind: str
    """`folders` (nested), `files` or `bytes`."""
    amount: int


class Swapping(TypedDict):
    """The target to which a swapped link leads the arena."""

    foreign: str
    """A folder that belongs to the arena."""
    seconds: float


def attack_fill(targets: Filling) -> object:
    """Fill the scratch folder; return the number of folders, files or bytes that fitted."""
    fill: dict[str, Callable[[int], int]] = {"folders": _nest, "files": _make_files, "bytes": _write}
    return fill[targets["kind"]](targets["amount"])


def attack_nothing(_: object) -> None:
    """Do nothing, to show that the attacker runs."""


def attack_swap(targets: Swapping) -> object:
    """Keep swapping a folder with a link to a foreign folder; each swap is atomic."""
    end = time.monotonic() + targets["seconds"]
    while time.monotonic() < end:
        # The arena keeps removing everything, so the folder is made again.
        with suppress(OSError):
            (HOME / "folder" / "below").mkdir(parents=True)
            _close(HOME / "folder")
        with suppress(OSError):
            (HOME / "link").symlink_to(targets["foreign"])
        with suppress(OSError):
            one, other = (os.fsencode(HOME / name) for name in ("folder", "link"))
            syscall("renameat2", _AT_FDCWD, one, _AT_FDCWD, other, _EXCHANGE)
    return None


def _close(path: Path) -> None:
    """Remove all access to a folder; never follow a link, because the arena is to be tricked into that."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        os.fchmod(folder, 0)
    finally:
        os.close(folder)


def _nest(amount: int) -> int:
    for number in range(amount):
        try:
            os.mkdir("folder")  # noqa: PTH102 - must be as fast as possible
            os.chdir("folder")
        except OSError:
            return number
    return amount


def _make_files(amount: int) -> int:
    for number in range(amount):
        try:
            os.close(os.open(str(number), os.O_CREAT | os.O_WRONLY))
        except OSError:
            return number
    return amount


def _write(amount: int) -> int:
    written = 0
    chunk = b"x" * _CHUNK
    while written < amount:
        try:
            with open(f"large-{written}", "wb", buffering=0) as file:  # noqa: PTH123 - must be as fast as possible
                for _number in range(_FILE_BYTES // _CHUNK):
                    written += file.write(chunk)
        except OSError:
            return written
    return written

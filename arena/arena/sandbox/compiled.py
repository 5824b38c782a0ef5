"""Code that bots compiled, kept for their next processes: numba's cache, each bot's apart.

Its files are pickles: who reads one runs what is in it. So no two bots share any, the arena copies them
without a look inside, and a process gets a copy of its own, which numba can write to.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
import secrets
import stat
import sys
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from arena import home
from arena.removal import remove

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_BYTES = 32 << 20
"""What may be kept for one bot; all kernels of the arena take one of these."""
_MAX_FILES = 2_000
_MAX_FOLDERS = 64
"""Bots for which something is kept, the ones used last."""
_ENDS = (".nbi", ".nbc")
"""Of numba's indices and of its code."""
_WORK = ".work-"
"""How the name of a folder begins that is not ready yet, or no longer wanted."""
_STALE_S = 86_400.0
"""Seconds after which such a folder was left by a process that was killed."""
_OPEN = (
    os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
)
_OPEN_FOLDER = _OPEN | getattr(os, "O_DIRECTORY", 0)


def folder_for(*identity: str) -> Path:
    """Give the folder for what the code of this identity compiled with this interpreter on this processor."""
    text = "\n".join([*map(repr, identity), *_machine()])
    return home.cache() / "numba" / hashlib.sha256(text.encode()).hexdigest()[:32]


def take(folder: Path, into: Path) -> None:
    """Copy what was kept into the folder of a process that is to start; if that fails it compiles anew."""
    with suppress(OSError):
        _write(_read(folder), into)
        # The order in which folders go is that of their last use.
        os.utime(folder)


def keep(cache: Path | int, folder: Path) -> None:
    """Keep what a process that has ended left; nothing of one that left more than is allowed.

    Whatever it left: links, pipes, other files and folders in folders are passed over.

    Args:
        cache: what it left, a path or a descriptor.
        folder: where it is kept.
    """
    with suppress(OSError):
        found = _read(cache)
        if not found or (folder.exists() and found == _read(folder)):
            return
        folder.parent.mkdir(parents=True, exist_ok=True)
        fresh, old = _work_folder(folder), _work_folder(folder)
        fresh.mkdir(mode=0o700)
        try:
            _write(found, fresh)
            with suppress(FileNotFoundError):
                folder.rename(old)
            fresh.rename(folder)
        finally:
            for work in (fresh, old):
                remove(work)
        _prune(folder.parent)


def _read(folder: Path | int) -> dict[str, bytes]:
    """Give numba's files in the folders of a folder by `folder/name`; none of too many, or too large ones."""
    found: dict[str, bytes] = {}
    left = MAX_BYTES
    for name, file in _files(folder):
        content = b""
        while piece := os.read(file, left + 1 - len(content)):
            content += piece
        left -= len(content)
        if left < 0 or len(found) == _MAX_FILES:
            return {}
        found[name] = content
    return found


def _files(folder: Path | int) -> Iterator[tuple[str, int]]:
    """Give the files with an open descriptor of each; a bot may have put anything where they should be."""
    for path, descriptor in _open_all(folder, _OPEN_FOLDER, stat.S_IFDIR):
        for name, file in _open_all(descriptor, _OPEN, stat.S_IFREG):
            if name.endswith(_ENDS):
                yield f"{path}/{name}", file


def _open_all(folder: Path | int, flags: int, kind: int) -> Iterator[tuple[str, int]]:
    own = os.open(folder, _OPEN_FOLDER) if isinstance(folder, Path) else os.dup(folder)
    try:
        with os.scandir(own) as entries:
            for number, entry in enumerate(entries):
                if number > 2 * _MAX_FILES:
                    return
                try:
                    opened = os.open(entry.name, flags, dir_fd=own)
                except OSError:
                    continue
                try:
                    found = os.fstat(opened)
                    # A second name may be that of a file which is none of the bot's.
                    if stat.S_IFMT(found.st_mode) == kind and (kind == stat.S_IFDIR or found.st_nlink == 1):
                        yield entry.name, opened
                finally:
                    os.close(opened)
    finally:
        os.close(own)


def _write(found: Mapping[str, bytes], folder: Path) -> None:
    for name, content in found.items():
        path = folder / name
        path.parent.mkdir(mode=0o700, exist_ok=True)
        path.write_bytes(content)


def _work_folder(folder: Path) -> Path:
    return folder.with_name(f"{_WORK}{secrets.token_hex(8)}")


def _prune(base: Path) -> None:
    """Remove what killed processes left, and what has not been used for the longest time."""
    ages = sorted((time.time() - path.stat().st_mtime, path) for path in base.iterdir())
    kept = [path for _, path in ages if not path.name.startswith(_WORK)]
    stale = [path for age, path in ages if path.name.startswith(_WORK) and age > _STALE_S]
    for path in (*kept[_MAX_FOLDERS:], *stale):
        remove(path)


@cache
def _machine() -> tuple[str, ...]:
    """Give what compiled code depends on, beside its source."""
    try:
        numba = importlib.metadata.version("numba")
    except importlib.metadata.PackageNotFoundError:
        numba = ""
    return (sys.version, numba, platform.machine(), *_processor())


def _processor() -> list[str]:
    """Give the name and the features of the processor."""
    try:
        first = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").partition("\n\n")[0]
    except OSError:
        return [platform.processor()]
    wanted = ("model name", "flags", "Features", "CPU implementer", "CPU part")
    return [line for line in first.splitlines() if line.startswith(wanted)]

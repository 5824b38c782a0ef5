"""A cache of the code that bots compiled with numba, kept separately for each bot.

numba's cache files are pickles: reading one executes its content. Therefore no two bots share files, the
arena copies them without unpickling, and each process gets a copy that numba can write to.
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
from arena_plugins.entries import version_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_BYTES = 32 << 20
"""Maximum size of one bot's cache in bytes, 32 MiB; all kernels of the arena together take one MiB."""
_MAX_FILES = 2_000
_MAX_FOLDERS = 64
"""Maximum number of bots with a cache; the least recently used ones are removed."""
_ENDS = (".nbi", ".nbc")
"""Suffixes of numba's index and code files."""
_WORK = ".work-"
"""Name prefix of folders that are not complete yet or are being removed."""
_STALE_S = 86_400.0
"""Seconds after which such a folder must have been left by a killed process."""
_OPEN = (
    os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
)
_OPEN_FOLDER = _OPEN | getattr(os, "O_DIRECTORY", 0)


def folder_for(*identity: str) -> Path:
    """Return the cache folder of an identity, for this interpreter on this processor."""
    text = "\n".join([*map(repr, identity), *_machine()])
    return home.cache() / "numba" / hashlib.sha256(text.encode()).hexdigest()[:32]


def take(folder: Path, into: Path) -> None:
    """Copy cached code into the folder of a process that is about to start; on failure it compiles again."""
    with suppress(OSError):
        _write(_read(folder), into)
        # The modification time records the last use, for `_prune`.
        os.utime(folder)


def keep(cache: Path | int, folder: Path) -> None:
    """Store what an ended process has compiled; nothing if it left more than is allowed.

    Everything else it left (links, pipes, other files, nested folders) is ignored.

    Args:
        cache: the folder it left, as a path or a descriptor.
        folder: the cache folder.
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
            # A rename does not replace a folder with files in it. Between the two renames there is no cache,
            # so a bot that starts now compiles; if another process puts its own there, this one is dropped.
            with suppress(FileNotFoundError):
                folder.rename(old)
            fresh.rename(folder)
        finally:
            for work in (fresh, old):
                remove(work)
        _prune(folder.parent)


def _read(folder: Path | int) -> dict[str, bytes]:
    """Return numba's files by `folder/name`; empty if they are too many or too large."""
    found: dict[str, bytes] = {}
    left = MAX_BYTES
    for name, file in _files(folder):
        content = b""
        # One byte more than is left, to tell a file that fits exactly from one that is too large.
        while piece := os.read(file, left + 1 - len(content)):
            content += piece
        left -= len(content)
        if left < 0 or len(found) == _MAX_FILES:
            return {}
        found[name] = content
    return found


def _files(folder: Path | int) -> Iterator[tuple[str, int]]:
    """Yield each file's name with an open descriptor; skips anything else that a bot put in their place."""
    for path, descriptor in _open_all(folder, _OPEN_FOLDER, stat.S_IFDIR):
        for name, file in _open_all(descriptor, _OPEN, stat.S_IFREG):
            if name.endswith(_ENDS):
                yield f"{path}/{name}", file


def _open_all(folder: Path | int, flags: int, kind: int) -> Iterator[tuple[str, int]]:
    own = os.open(folder, _OPEN_FOLDER) if isinstance(folder, Path) else os.dup(folder)
    try:
        with os.scandir(own) as entries:
            for number, entry in enumerate(entries):
                # Entries of other kinds are not counted below, and a bot may have left any number of them.
                if number > 2 * _MAX_FILES:
                    return
                try:
                    opened = os.open(entry.name, flags, dir_fd=own)
                except OSError:
                    continue
                try:
                    found = os.fstat(opened)
                    # A file with a second link may not belong to the bot.
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
    """Remove leftovers of killed processes, and the caches that were not used for the longest time."""
    ages = sorted((time.time() - path.stat().st_mtime, path) for path in base.iterdir())
    kept = [path for _, path in ages if not path.name.startswith(_WORK)]
    stale = [path for age, path in ages if path.name.startswith(_WORK) and age > _STALE_S]
    for path in (*kept[_MAX_FOLDERS:], *stale):
        remove(path)


@cache
def _machine() -> tuple[str, ...]:
    """Return what compiled code depends on besides its source."""
    try:
        numba = version_of("numba")
    except importlib.metadata.PackageNotFoundError:
        numba = ""
    return (sys.version, numba, platform.machine(), *_processor())


def _processor() -> list[str]:
    """Return the name and the features of the processor."""
    try:
        first = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").partition("\n\n")[0]
    except OSError:
        return [platform.processor()]
    wanted = ("model name", "flags", "Features", "CPU implementer", "CPU part")
    return [line for line in first.splitlines() if line.startswith(wanted)]

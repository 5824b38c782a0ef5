"""Removes folders that bots wrote to, whatever they contain."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

SECONDS = 30.0
"""Default time limit of a removal in seconds."""
_HAS_DIR_FD = {os.open, os.rename, os.rmdir, os.unlink} <= os.supports_dir_fd and os.scandir in os.supports_fd
_FOLDER = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_LOOK_UP = getattr(os, "O_PATH", 0)
"""Flag that opens a folder only to resolve names in it, whatever its mode; 0 on systems other than Linux."""


class _OpenFolder(NamedTuple):
    """The folder that is being emptied."""

    descriptor: int
    device: int
    """Number of the folder's file system; entries on other file systems are not removed."""
    deadline: float
    """Time at which the removal gives up, by `time.monotonic`."""


def remove(path: str | os.PathLike[str], seconds: float = SECONDS) -> None:
    """Remove a file or a folder with everything in it; never raise an `OSError`.

    Every step names an entry of an open folder and follows no links, so a process that changes the tree
    concurrently cannot redirect it. Folders that deny access are made accessible. The depth of the tree does
    not matter: nested folders are first moved up into the top one, which keeps paths short and at most five
    descriptors open. Mounted file systems, and entries that cannot be removed, are left in place.

    On systems without these calls (Windows), `shutil.rmtree` is used.

    Args:
        path: the path; it may be missing. Only the arena may be able to change its parent folder.
        seconds: time limit, so that neither a huge tree nor a process that keeps writing blocks the arena;
            another call can remove the rest.
    """
    path = Path(path)
    if not _HAS_DIR_FD:
        _remove_by_path(path)
        return
    with suppress(OSError):
        above = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | _LOOK_UP)
        try:
            _remove_from(above, path.name, time.monotonic() + seconds)
        finally:
            os.close(above)


def _remove_from(above: int, name: str, deadline: float) -> None:
    if not stat.S_ISDIR(os.stat(name, dir_fd=above, follow_symlinks=False).st_mode):
        os.unlink(name, dir_fd=above)
        return
    top = _open(above, name)
    try:
        place = _OpenFolder(top, os.fstat(top).st_dev, deadline)
        # Removing entries during a listing may skip others, so passes are repeated until one changes nothing.
        while _pass(place):
            pass
    finally:
        os.close(top)
    os.rmdir(name, dir_fd=above)


def _pass(place: _OpenFolder) -> bool:
    """Remove what can be removed, move nested folders up one level; return whether anything changed."""
    has_changed = False
    with os.scandir(place.descriptor) as entries:
        for entry in entries:
            if time.monotonic() > place.deadline:
                return False
            is_folder = _is_folder(entry)
            has_changed |= _drop(place.descriptor, entry.name, is_folder=is_folder) or (
                is_folder and _flatten(place, entry.name)
            )
    return has_changed


def _flatten(place: _OpenFolder, name: str) -> bool:
    """Empty and remove a folder of the top folder; its subfolders are moved into the top folder."""
    has_changed = False
    with suppress(OSError):
        folder = _open(place.descriptor, name)
        try:
            if os.fstat(folder).st_dev != place.device:
                return False
            with os.scandir(folder) as entries:
                for entry in entries:
                    if time.monotonic() > place.deadline:
                        return False
                    is_folder = _is_folder(entry)
                    has_changed |= _drop(folder, entry.name, is_folder=is_folder) or (
                        is_folder and _move_up(place, folder, entry.name)
                    )
        finally:
            os.close(folder)
        _drop(place.descriptor, name, is_folder=True)
    return has_changed


def _is_folder(entry: os.DirEntry[str]) -> bool:
    with suppress(OSError):
        return entry.is_dir(follow_symlinks=False)
    return False


def _drop(folder: int, name: str, *, is_folder: bool) -> bool:
    """Remove an empty folder, a file or a link; return whether it is gone."""
    try:
        (os.rmdir if is_folder else os.unlink)(name, dir_fd=folder)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _move_up(place: _OpenFolder, folder: int, name: str) -> bool:
    # The new name is unpredictable; if it exists nevertheless, the next pass tries again.
    fresh = secrets.token_hex(8)
    try:
        os.rename(name, fresh, src_dir_fd=folder, dst_dir_fd=place.descriptor)
    except PermissionError:
        # Moving a folder updates its `..` entry, which its mode must permit.
        with suppress(OSError):
            os.close(_open(folder, name))
            os.rename(name, fresh, src_dir_fd=folder, dst_dir_fd=place.descriptor)
            return True
        return False
    except OSError:
        return False
    return True


def _open(folder: int, name: str) -> int:
    """Open a subfolder with the rights to list and to change it; never follow a link."""
    try:
        opened = os.open(name, os.O_RDONLY | _FOLDER, dir_fd=folder)
    except PermissionError:
        _make_accessible(folder, name)
        opened = os.open(name, os.O_RDONLY | _FOLDER, dir_fd=folder)
    with suppress(OSError):
        if os.fstat(opened).st_mode & stat.S_IRWXU != stat.S_IRWXU:
            os.fchmod(opened, stat.S_IRWXU)
    return opened


def _make_accessible(folder: int, name: str) -> None:
    """Change the mode of a folder that cannot be opened."""
    if sys.platform != "linux":
        os.chmod(name, stat.S_IRWXU, dir_fd=folder, follow_symlinks=False)
        return
    held = os.open(name, os.O_PATH | _FOLDER, dir_fd=folder)
    try:
        # fchmod rejects O_PATH descriptors; this path leads to the open folder, even if it was renamed.
        os.chmod(f"/proc/self/fd/{held}", stat.S_IRWXU)  # noqa: PTH101 - the path is a descriptor
    finally:
        os.close(held)


def _remove_by_path(path: Path) -> None:
    with suppress(OSError, RecursionError):
        if not path.is_dir() or path.is_symlink():
            path.unlink()
            return
        shutil.rmtree(path, ignore_errors=True)

"""The folder that a bot process may write to."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from arena.removal import remove

_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_BLOCK = 512
"""Bytes in the unit of `st_blocks`."""


class ScratchBounds(NamedTuple):
    """The limits of a scratch folder."""

    num_bytes: int
    """Bytes of all files together."""
    entries: int
    """Number of files, folders and other entries."""
    depth: int
    """Depth of nested folders."""


class _ExcessError(Exception):
    """A folder exceeds a limit; the text says which one."""


class ScratchFolder:
    """A folder for one process, which exists as long as the process and is never emptied before.

    Emptying it between matches would not help: the process could remember the content instead.
    """

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="arena-bot-"))
        self.home = self.root / "home"
        self.cache = self.root / "cache"
        self.home.mkdir()
        self.cache.mkdir()

    def give_to(self, user: int) -> None:
        """Change the owner of `home` and `cache` and their content, before that user has a process."""
        self.root.chmod(0o711)  # the user may pass through, but not list names
        for path in (self.home, self.cache, *self.home.rglob("*"), *self.cache.rglob("*")):
            os.chown(path, user, user, follow_symlinks=False)

    def excess(self, bounds: ScratchBounds, part: float = 1.0) -> str:
        """Describe the limit that the content of a living bot's folder exceeds; empty if it exceeds none.

        Counting stops at the first exceeded limit, so the cost is bounded. Links are not followed.

        Args:
            bounds: the limits.
            part: factor for the limits of bytes and entries.
        """
        tally = _Tally(bounds, part)
        try:
            tally.add(self.root, None, -1)  # its subfolders home and cache have depth 0
        except _ExcessError as error:
            return str(error)
        return ""

    def remove(self) -> None:
        """Remove the folder; a second call does nothing."""
        remove(self.root)


class _Tally:
    """Counts the content of a folder, up to its limits."""

    def __init__(self, bounds: ScratchBounds, part: float) -> None:
        self._most_bytes = int(part * bounds.num_bytes)
        self._most_entries = int(part * bounds.entries)
        self._most_depth = bounds.depth
        self._num_bytes = self._num_entries = 0

    def add(self, name: Path | str, parent: int | None, depth: int) -> None:
        """Count the content of a folder, given by its name in an open folder.

        Raises:
            _ExcessError: a limit is exceeded.
        """
        if depth > self._most_depth:
            raise _ExcessError(f"folders {depth} deep, {self._most_depth} are allowed")
        try:
            folder = os.open(name, _FOLDER, dir_fd=parent)
        except PermissionError:
            # Its hidden content could be of any size.
            raise _ExcessError("a folder that denies the arena access") from None
        except OSError:
            return  # it was removed meanwhile, or is no longer a folder
        try:
            with suppress(OSError), os.scandir(folder) as entries:
                for entry in entries:
                    self._count(entry, folder, depth)
        finally:
            os.close(folder)

    def _count(self, entry: os.DirEntry[str], folder: int, depth: int) -> None:
        self._num_entries += 1
        if self._num_entries > self._most_entries:
            raise _ExcessError(f"more than {self._most_entries} files and folders")
        try:
            found = entry.stat(follow_symlinks=False)
            is_folder = entry.is_dir(follow_symlinks=False)
        except OSError:
            return
        if is_folder:
            self.add(entry.name, folder, depth + 1)
            return
        # Sparse files take fewer blocks than their size; some file systems take more. Count the smaller.
        self._num_bytes += min(found.st_size, getattr(found, "st_blocks", found.st_size) * _BLOCK)
        if self._num_bytes > self._most_bytes:
            raise _ExcessError(f"more than {self._most_bytes} bytes")

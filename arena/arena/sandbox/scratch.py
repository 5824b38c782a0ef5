"""The folder a bot process may write to."""

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
    """How much may lie in a scratch folder."""

    num_bytes: int
    """Of all files together."""
    entries: int
    """Files, folders and whatever else."""
    depth: int
    """Folders in folders."""


class _ExcessError(Exception):
    """There is more in a folder than is allowed; the message says which bound was passed."""


class Scratch:
    """A folder of its own for one process, which lives as long as that process and is never emptied before.

    What is left there from match to match the process could as well remember.
    """

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="arena-bot-"))
        self.home = self.root / "home"
        self.cache = self.root / "cache"
        self.home.mkdir()
        self.cache.mkdir()

    def give_to(self, user: int) -> None:
        """Make `home` and `cache` another user's, with what is in them, before that user has a process."""
        self.root.chmod(0o711)  # it may pass, and sees no names
        for path in (self.home, self.cache, *self.home.rglob("*"), *self.cache.rglob("*")):
            os.chown(path, user, user, follow_symlinks=False)

    def excess(self, bounds: ScratchBounds, part: float = 1.0) -> str:
        """Return the bound that what a living bot wrote exceeds, in words; empty if it keeps to all.

        Looking ends at the first bound, so its cost is bounded too. No link is followed.

        Args:
            bounds: what is allowed.
            part: of bytes and entries that counts as all.
        """
        tally = _Tally(bounds, part)
        try:
            tally.add(self.root, None, -1)  # home and cache, the folders in it, are the bot's depth 0
        except _ExcessError as error:
            return str(error)
        return ""

    def remove(self) -> None:
        """Remove all of it; a second call does nothing."""
        remove(self.root)


class _Tally:
    """What is in a folder, counted as far as the bounds."""

    def __init__(self, bounds: ScratchBounds, part: float) -> None:
        self._most_bytes = int(part * bounds.num_bytes)
        self._most_entries = int(part * bounds.entries)
        self._most_depth = bounds.depth
        self._num_bytes = self._num_entries = 0

    def add(self, name: Path | str, parent: int | None, depth: int) -> None:
        """Count what is in a folder, by its name in an open one.

        Raises:
            _ExcessError: a bound is passed.
        """
        if depth > self._most_depth:
            raise _ExcessError(f"folders {depth} deep, {self._most_depth} are allowed")
        try:
            folder = os.open(name, _FOLDER, dir_fd=parent)
        except PermissionError:
            # What it hides could be of any size.
            raise _ExcessError("a folder that denies the arena access") from None
        except OSError:
            return  # gone meanwhile, or no folder any more
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
        # A file with holes takes less than its size says, a file system may take more than that.
        self._num_bytes += min(found.st_size, getattr(found, "st_blocks", found.st_size) * _BLOCK)
        if self._num_bytes > self._most_bytes:
            raise _ExcessError(f"more than {self._most_bytes} bytes")

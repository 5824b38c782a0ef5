"""A published folder: files are replaced atomically, and only if they differ."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from arena.errors import ConfigError

MARK: Final = ".arena-site.json"
"""The file that identifies a folder as a site of ours; it holds the digests of the pages."""


class Folder:
    """The folder to which pages are written; counts pages, changes and bytes."""

    def __init__(self, path: Path) -> None:
        """Open a folder; it is created if it does not exist.

        Raises:
            ConfigError: the path is not a folder, or the folder holds files that are not those of a site.
        """
        if path.exists() and not path.is_dir():
            raise ConfigError(f"{path} is a file; name a folder for the site")
        if path.is_dir() and not (path / MARK).is_file() and any(path.iterdir()):
            raise ConfigError(f"{path} holds other files; name an empty folder, or one of an earlier site")
        path.mkdir(parents=True, exist_ok=True)
        # The mark is created first, so that a run after a killed one accepts the folder.
        if not (path / MARK).exists():
            (path / MARK).touch()
        self.path = path
        self.num_pages = 0
        self.num_changed = 0
        self.num_bytes = 0
        self._kept: set[str] = set()

    def write(self, name: str, content: str | bytes) -> None:
        """Write a file unless it has this content already; readers see the old file or the new one."""
        data = content.encode() if isinstance(content, str) else content
        path = self.path / name
        self._keep(name, len(data))
        try:
            if path.read_bytes() == data:
                return
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.part")
        part.write_bytes(data)
        part.replace(path)
        self.num_changed += name.endswith(".html")

    def keep(self, name: str) -> bool:
        """Keep a file unchanged; return whether it exists."""
        try:
            size = (self.path / name).stat().st_size
        except FileNotFoundError:
            return False
        self._keep(name, size)
        return True

    def sweep(self) -> int:
        """Remove files of no current page, and parts that a killed run left; return how many."""
        num_removed = 0
        for root, folders, files in os.walk(self.path, topdown=False):
            for file in files:
                path = Path(root, file)
                if path.relative_to(self.path).as_posix() not in self._kept:
                    path.unlink()
                    num_removed += 1
            for folder in folders:
                path = Path(root, folder)
                if not path.is_symlink() and not any(path.iterdir()):
                    path.rmdir()
        return num_removed

    def _keep(self, name: str, size: int) -> None:
        self._kept.add(name)
        self.num_pages += name.endswith(".html")
        self.num_bytes += size

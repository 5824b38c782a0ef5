"""The hub's cache for pieces of contents: files in a folder, with LRU eviction beyond a quota."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

QUOTA: Final = 4 << 30
"""Maximum bytes of pieces that the hub keeps."""
_HASH: Final = re.compile(r"[0-9a-f]{64}")


class PieceCache:
    """Keeps the pieces that slots requested. If the disk is full, pieces are only fetched more often."""

    def __init__(self, folder: Path, quota: int = QUOTA) -> None:
        """Start without pieces; the folder must be empty."""
        self._folder = folder
        self._quota = quota
        self._sizes: dict[Path, int] = {}
        """Bytes of each kept piece, the least recently used one first."""

    def read(self, content: str, piece: int) -> bytes | None:
        """Return a piece; None if it is not kept."""
        path = self._path(content, piece)
        if path is None or path not in self._sizes:
            return None
        try:
            data = path.read_bytes()
        except OSError:  # the folder was deleted
            del self._sizes[path]
            return None
        # Inserted again at the end: the order of the dict is the order of use.
        self._sizes[path] = self._sizes.pop(path)
        return data

    def write(self, content: str, piece: int, data: bytes) -> None:
        """Keep a piece, if it fits into the quota."""
        path = self._path(content, piece)
        if path is None or len(data) > self._quota:
            return
        self._sizes.pop(path, None)
        while self._sizes and sum(self._sizes.values()) + len(data) > self._quota:
            self._remove(next(iter(self._sizes)))
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            self._sizes[path] = len(data)

    def forget(self, content: str) -> None:
        """Remove all pieces of a content."""
        for path in [path for path in self._sizes if path.parent.name == content]:
            self._remove(path)

    def _remove(self, path: Path) -> None:
        del self._sizes[path]
        path.unlink(missing_ok=True)

    def _path(self, content: str, piece: int) -> Path | None:
        # The hash comes from a message and becomes part of a path, so it must look like one.
        return self._folder / content / str(piece) if _HASH.fullmatch(content) else None

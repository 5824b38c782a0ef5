"""The list of a competitor's files, and the hash that stands for all of them."""

from __future__ import annotations

import hashlib
import json

import msgspec


class FileEntry(msgspec.Struct, frozen=True, array_like=True):
    """One file of a content."""

    path: str
    """Relative to the content, with `/` between its parts."""
    is_executable: bool
    size: int
    """In bytes."""
    sha256: str
    """In hex."""


class Inventory(msgspec.Struct, frozen=True, kw_only=True):
    """All files of a content and what they need beside them."""

    files: tuple[FileEntry, ...]
    """Sorted by path."""
    needs: dict[str, str] = {}
    """Distributions that the files belong to or use, with their versions; none for bundled bots. Modules of a
    virtual environment that no distribution recorded are there with their SHA-256."""

    @property
    def tree_hash(self) -> str:
        """SHA-256, in hex, over paths, executable bits, sizes, contents and needs, in canonical order."""
        rows = sorted(msgspec.structs.astuple(file) for file in self.files)
        canonical = json.dumps([rows, self.needs], sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    @property
    def num_bytes(self) -> int:
        """The size of all files together."""
        return sum(file.size for file in self.files)

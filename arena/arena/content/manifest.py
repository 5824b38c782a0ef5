"""The list of a competitor's files, and the hash that identifies them."""

from __future__ import annotations

import hashlib
import json

import msgspec


class FileEntry(msgspec.Struct, frozen=True, array_like=True):
    """One file of a content."""

    path: str
    """Path relative to the content, with `/` as separator."""
    is_executable: bool
    size: int
    """Size in bytes."""
    sha256: str
    """SHA-256 in hex."""


class Inventory(msgspec.Struct, frozen=True, kw_only=True):
    """All files of a content, and what they need in addition."""

    files: tuple[FileEntry, ...]
    """The files, sorted by path."""
    needs: dict[str, str] = {}
    """Distributions that the files belong to or use, with versions; empty for bundled bots. Modules in a
    virtual environment that belong to no distribution are listed with their SHA-256."""

    @property
    def tree_hash(self) -> str:
        """SHA-256 in hex over paths, executable bits, sizes, file hashes and needs, in canonical order."""
        rows = sorted(msgspec.structs.astuple(file) for file in self.files)
        canonical = json.dumps([rows, self.needs], sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    @property
    def num_bytes(self) -> int:
        """Total size of all files in bytes."""
        return sum(file.size for file in self.files)

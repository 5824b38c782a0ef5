"""Puts files in place so that neither a crash nor a power cut leaves half of one."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING
from uuid import uuid4

if TYPE_CHECKING:
    from pathlib import Path


def write_durably(path: Path, content: bytes) -> None:
    """Write a file that is there whole, or not at all, even after a power cut.

    Raises:
        OSError: it cannot be written.
    """
    part = part_of(path)
    try:
        part.write_bytes(content)
        sync_file(part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    sync_folder(path.parent)


def part_of(path: Path) -> Path:
    """Return a name beside a file, for what is to take its place when it is whole."""
    return path.with_name(f".{path.name}.{uuid4().hex}.part")


def sync_file(path: Path) -> None:
    """Return when the content of a file is on the disk."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Return when the names in a folder are on the disk."""
    # Windows opens no folder, and needs no sync of one.
    with suppress(PermissionError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

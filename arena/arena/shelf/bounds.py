"""Limits of what wheels may unpack to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.content.archives import Bounds, Extent, check_zip
from arena.errors import PluginError

if TYPE_CHECKING:
    from pathlib import Path

MAX_BYTES = 2 << 30
"""Maximum number of bytes of all files, compressed as well as uncompressed."""
MAX_FILES = 20_000
"""Maximum number of files and folders."""


def check_bounds(path: Path) -> Extent:
    """Read a whole wheel without writing anything, and refuse one that must not be unpacked.

    Raises:
        PluginError: see `check_zip`.
        OSError, ValueError, RuntimeError, EOFError, zipfile.BadZipFile, zlib.error: it is damaged.
    """
    return check_zip(path, Bounds(MAX_BYTES, MAX_FILES))


def check_sum(wheels: str, extents: list[Extent]) -> None:
    """Check that wheels which are unpacked into one folder respect the limits together.

    Raises:
        PluginError: a limit is exceeded.
    """
    num_bytes, num_files = (sum(values) for values in zip(*extents, strict=True))
    if num_bytes > MAX_BYTES or num_files > MAX_FILES:
        raise PluginError(
            f"{wheels} with all it needs is refused: {num_bytes} bytes in {num_files} files and folders; "
            f"at most {MAX_BYTES} bytes in {MAX_FILES} are installed"
        )

"""Files of a run: atomic replacement, and a lock that ends with its process."""

from __future__ import annotations

import errno
import json
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from arena.errors import ArenaError, ConfigError

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from pathlib import Path

    from arena_plugins.training import Fact


_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


@contextmanager
def named(path: Path) -> Generator[None]:
    """Add a path to errors of writing: Python names a file only if it cannot be opened."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


@contextmanager
def full_disks_named(folder: Path) -> Generator[None]:
    """Raise an error that says what to do if a disk is full while a run trains.

    Raises:
        ArenaError: a disk is full, or its user's share of it.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise ArenaError(
            f"{error.filename or 'a file'} cannot be written: {error.strerror}; make room, then "
            f"arena train --resume {folder.name} continues at the last checkpoint"
        ) from error


def write_whole(path: Path, content: bytes) -> Path:
    """Replace a file atomically; after a crash either the old or the new content is there."""
    temporary = path.with_name(f".{path.name}.part")
    try:
        with named(path), temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        # Renamed only when the content has reached the disk; otherwise a power cut could leave an empty file
        # under the name.
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return path


@contextmanager
def held(folder: Path) -> Generator[None]:
    """Lock a run for this process; the lock ends with the process, however that ends.

    Raises:
        ConfigError: another process holds the lock.
    """
    try:
        import fcntl
    except ImportError:
        # Windows lacks these locks, so users must avoid concurrent runs themselves.
        yield
        return
    with (folder / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigError(f"the run {folder.name} is in use by another process") from None
        yield


def toml_lines(values: Mapping[str, Fact]) -> str:
    """Format flat values as TOML."""
    # A JSON scalar is valid TOML, once DEL is escaped; keys are quoted in the same way.
    return "".join(
        f"{_key(key)} = {json.dumps(value, ensure_ascii=False)}\n".replace("\x7f", "\\u007f")
        for key, value in values.items()
    )


def _key(key: str) -> str:
    is_bare = key.isascii() and key.replace("_", "").replace("-", "").isalnum()
    return key if is_bare else json.dumps(key)

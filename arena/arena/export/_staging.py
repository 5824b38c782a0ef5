"""Writes to a temporary place beside the target, and moves the result there when complete."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from arena.errors import ConfigError, ExportError

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

_END = ".part"


def check_free(out: Path, *, is_folder: bool) -> None:
    """Refuse a target that already exists; an empty folder is accepted for a folder.

    Raises:
        ConfigError: the target exists, or its parent folder does not.
    """
    if not out.name:
        raise ConfigError(f"{out} cannot be written; name a new place")
    if not out.absolute().parent.is_dir():
        raise ConfigError(f"there is no folder {out.absolute().parent}; make it first")
    if out.is_symlink() or out.exists():
        is_empty = is_folder and out.is_dir() and not out.is_symlink() and not any(out.iterdir())
        if not is_empty:
            raise ConfigError(f"{out} exists; an export goes to a new place, so name another or remove it")


@contextmanager
def staged(out: Path, *, is_folder: bool) -> Generator[Path]:
    """Yield a temporary place to write to; at the end of the block move it to `out`, which must be new.

    If the block raises, nothing remains. Leftovers of killed processes are removed as well.

    Raises:
        ConfigError: `out` exists, or its parent folder does not.
        ExportError: the disk is full, or writing is not permitted.
    """
    check_free(out, is_folder=is_folder)
    with _moved(out, is_folder=is_folder) as part:
        yield part


@contextmanager
def replaced(out: Path) -> Generator[Path]:
    """Yield a temporary file to write to; at the end of the block it replaces `out`, which may exist.

    Raises:
        ExportError: the disk is full, or writing is not permitted.
    """
    with _moved(out, is_folder=False) as part:
        yield part


@contextmanager
def _moved(out: Path, *, is_folder: bool) -> Generator[Path]:
    out = out.absolute()
    part = out.with_name(f".{out.name}.{os.getpid()}{_END}")
    try:
        _sweep(out)
        if is_folder:
            part.mkdir()
        yield part
        # The content is synced first, then renamed, then the parent folder is synced: after a power cut in
        # between, `out` is either missing or complete.
        _sync(part)
        part.replace(out)
        _sync_folder(out.parent)
    except OSError as error:
        _remove(part)
        raise ExportError(
            f"cannot write {error.filename or out}: {error.strerror or error}; nothing was kept"
        ) from error
    except BaseException:
        _remove(part)
        raise


def _sweep(out: Path) -> None:
    """Remove the leftovers of processes that have ended."""
    for left in out.parent.glob(f".{out.name}.*{_END}"):
        number = left.name.removesuffix(_END).rpartition(".")[2]
        if number.isdecimal() and not _is_running(int(number)):
            _remove(left)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    # A leftover with the id of this process is from an earlier one that had the same id.
    return pid != os.getpid()


def _remove(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place, ignore_errors=True)
    else:
        with suppress(OSError):
            place.unlink()


def _sync(place: Path) -> None:
    """Sync everything to disk before it is renamed, so that a power cut cannot leave empty files there."""
    files = sorted(place.iterdir()) if place.is_dir() else [place]
    for file in files:
        with file.open("rb") as opened:
            os.fsync(opened.fileno())
    if place.is_dir():
        _sync_folder(place)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

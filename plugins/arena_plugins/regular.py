"""Opens files named by users or specs; rejects all but regular files, because pipes and devices can block."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from arena_plugins.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from io import BufferedReader

MAX_WHOLE = 1 << 26
"""Default size limit for files that are read whole: 64 MiB."""
_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def open_regular(path: str | os.PathLike[str]) -> BufferedReader:
    """Open a regular file for reading bytes; a pipe, socket or device is rejected without blocking.

    Raises:
        OSError: it cannot be opened, or is not a regular file; `strerror` is the reason.
    """
    # Without O_NONBLOCK, opening a pipe blocks until a writer opens it, which may never happen.
    flags = (
        os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    )
    descriptor = os.open(path, flags | getattr(os, "O_NOCTTY", 0))
    try:
        _refuse(descriptor, os.fspath(path))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _refuse(descriptor: int, path: str) -> None:
    # The check uses the open descriptor: by now, the path may refer to another file.
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "something else")
        raise OSError(errno.EINVAL, f"it is {kind}, not a regular file", path)


def read_regular(path: str | os.PathLike[str], *, max_bytes: int = MAX_WHOLE) -> bytes:
    """Read all of a regular file.

    Args:
        path: the file.
        max_bytes: the largest size that is accepted.

    Raises:
        OSError: it cannot be read, is not a regular file, or is too large; `strerror` is the reason.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        content = b"" if size > max_bytes else file.read(max_bytes + 1)
    # Files in /proc and similar file systems report size 0 but have content.
    if max(size, len(content)) > max_bytes:
        raise OSError(errno.EFBIG, f"it has more than the {max_bytes:,} bytes allowed", os.fspath(path))
    return content


def refuse_special(owner: str, options: Mapping[str, str]) -> None:
    """Reject options whose value is the path of a pipe, socket or device, before any bot opens it.

    Args:
        owner: the bot's name, for the message.
        options: the options of its spec; `cmd` is exempt, because a command may name what its program reads.

    Raises:
        OptionError: the text names the option and the kind of file.
    """
    for key, value in options.items():
        kind = _KINDS.get(_format_of(value)) if key != "cmd" and os.sep in value else None
        if kind is not None:
            raise OptionError(f"{owner}: {key}={value} is {kind}; give a regular file")


def _format_of(path: str) -> int:
    try:
        return stat.S_IFMT(Path(path).stat().st_mode)
    except (OSError, ValueError):
        return 0  # no such file, or the text is too long for a path or contains a NUL

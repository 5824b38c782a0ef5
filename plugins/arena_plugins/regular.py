"""Opens files that a user or a spec names: regular files alone, so that no pipe and no device can block."""

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
"""Bytes of the largest file that is read whole, unless the reader says otherwise: 64 MiB."""
_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def open_regular(path: str | os.PathLike[str]) -> BufferedReader:
    """Open a regular file to read its bytes; a pipe, a socket or a device is refused and never waited for.

    Raises:
        OSError: it cannot be opened, or is no regular file; `strerror` says why.
    """
    # Without O_NONBLOCK the open of a pipe waits for a writer, which may never come.
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
    # Asked of the opened file, since its name may stand for another one by now.
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "something else")
        raise OSError(errno.EINVAL, f"it is {kind}, not a regular file", path)


def read_regular(path: str | os.PathLike[str], *, max_bytes: int = MAX_WHOLE) -> bytes:
    """Read a regular file whole.

    Args:
        path: the file.
        max_bytes: the largest size that is read.

    Raises:
        OSError: it cannot be read, is no regular file, or is larger; `strerror` says why.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        content = b"" if size > max_bytes else file.read(max_bytes + 1)
    # Files of the system, such as those in /proc, have more content than size.
    if max(size, len(content)) > max_bytes:
        raise OSError(errno.EFBIG, f"it has more than the {max_bytes:,} bytes allowed", os.fspath(path))
    return content


def refuse_special(owner: str, options: Mapping[str, str]) -> None:
    """Refuse options whose value is the path of a pipe, a socket or a device, before any bot opens it.

    Args:
        owner: the bot, for the message.
        options: those of its spec; a command (`cmd`) may name what its program reads.

    Raises:
        OptionError: names the option and the kind of file.
    """
    for key, value in options.items():
        kind = _KINDS.get(_format_of(value)) if key != "cmd" and os.sep in value else None
        if kind is not None:
            raise OptionError(f"{owner}: {key}={value} is {kind}; give a regular file")


def _format_of(path: str) -> int:
    try:
        return stat.S_IFMT(Path(path).stat().st_mode)
    except (OSError, ValueError):
        return 0  # not there, too long for a name, or with a NUL

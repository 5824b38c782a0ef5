"""Attacks on files that do not belong to the bot."""

from __future__ import annotations

import ctypes
import os
import select
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from arena.sandbox.attacks.syscalls import syscall

if TYPE_CHECKING:
    from arena.sandbox.attacks.targets import Targets

_IN_MODIFY, _IN_CREATE = 2, 256
_WATCH_MS = 500


def attack_read_store(targets: Targets) -> object:
    """Return the content of the store."""
    return Path(targets["store"]).read_text(encoding="utf-8")


def attack_append(targets: Targets) -> object:
    """Append to the store."""
    with Path(targets["store"]).open("a", encoding="ascii") as file:
        file.write(targets["text"])
    return None


def attack_list(targets: Targets) -> object:
    """Return the names in the store's folder."""
    return os.listdir(targets["folder"])  # noqa: PTH208 - the names are enough


def attack_read_passwords(targets: Targets) -> object:
    """Return the first line of the password file."""
    with Path(targets["passwords"]).open(encoding="utf-8") as file:
        return file.readline()


def attack_write(targets: Targets) -> object:
    """Create a file outside the scratch folder."""
    Path(targets["outside"]).write_text(targets["text"], encoding="ascii")
    return None


def attack_open_to_all(targets: Targets) -> object:
    """Make a file writable by all users."""
    Path(targets["own_file"]).chmod(0o666)
    return None


def attack_set_user(targets: Targets) -> object:
    """Make a file run with its owner's rights (set-uid)."""
    Path(targets["own_program"]).chmod(0o4755)
    return None


def attack_close_folder(targets: Targets) -> object:
    """Remove all access to a folder."""
    Path(targets["own_folder"]).chmod(0)
    return None


def attack_attributes(targets: Targets) -> object:
    """Set a file's times and an extended attribute; a failure of one does not prevent the other."""
    path = targets["own_file"]
    with suppress(OSError):
        os.utime(path, (0, 0))
    syscall("setxattr", os.fsencode(path), b"user.arena", b"x", 1, 0)
    return None


def attack_look_up(targets: Targets) -> object:
    """Return the target of a link and the size of the store."""
    return [os.readlink(targets["link"]), Path(targets["store"]).stat().st_size]  # noqa: PTH115 - as text


def attack_device(targets: Targets) -> object:
    """Set a device's times to the current time, which any user with write access may do."""
    os.utime(targets["device"])
    return None


def attack_lock(targets: Targets) -> object:
    """Lock a file that other bots read, too."""
    import fcntl  # missing on some systems on which this module is imported

    fcntl.flock(os.open(targets["shared"], os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
    return None


def attack_watch(targets: Targets) -> object:
    """Watch a folder and return the name of a file that changes in it."""
    watch = syscall("inotify_init1", os.O_NONBLOCK)
    try:
        mask = _IN_MODIFY | _IN_CREATE
        syscall("inotify_add_watch", watch, ctypes.c_char_p(os.fsencode(targets["folder"])), mask)
        select.select([watch], [], [], _WATCH_MS / 1000)
        return os.read(watch, 4096).decode(errors="replace")
    finally:
        os.close(watch)

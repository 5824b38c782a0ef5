"""The user a bot runs as: an unused id, if the arena is root and that user can reach what the bot needs."""

from __future__ import annotations

import itertools
import os
import stat
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_RANGES = (range(0x70000000, 0x7FFFFFFF), range(60706, 61184))
"""User ids of no account, per https://systemd.io/UIDS-GIDS; a container may map only the second range."""
_next = itertools.count(os.getpid())


def unused_user(needed: Iterable[str], below: str) -> int | None:
    """Return the id of a user without files and other processes, or None to keep the current user.

    Only root can change its user. It stays root if `needed` (files and folders) are not readable by
    everybody, or if everybody may not pass through `below`, the parent of scratch folders.
    """
    return _draw_user() if all(map(is_open_to_all, needed)) and may_pass(below) else None


def unused_user_inside(shown: Iterable[str]) -> int | None:
    """Return an unused user id for a container; the parents of its bound files do not matter there."""
    return _draw_user() if all(map(_may_read, shown)) else None


def _draw_user() -> int | None:
    """Return a new id at each call; None if the arena is not root, or these ids are not mapped."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return None
    numbers = next((numbers for numbers in _RANGES if _is_mapped(numbers)), None)
    return None if numbers is None else numbers[next(_next) % len(numbers)]


def is_open_to_all(path: str) -> bool:
    """Return whether any user may read a file or folder, which includes entering all its parents.

    Links are followed like the kernel does, so the folders that contain a link count too.
    """
    absolute = Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow the links to be checked
    return _is_open(str(absolute)) and _is_open(os.path.realpath(absolute))


def may_pass(folder: str) -> bool:
    """Return whether any user may pass through a folder and all its parents."""
    real = Path(os.path.realpath(folder))
    return all(map(_may_pass, (real, *real.parents)))


@cache
def _is_open(path: str) -> bool:
    return _may_read(path) and all(map(_may_pass, Path(path).parents))


@cache
def _may_read(path: str) -> bool:
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return False
    wanted = stat.S_IROTH | (stat.S_IXOTH if stat.S_ISDIR(mode) else 0)
    return mode & wanted == wanted


@cache
def _may_pass(folder: Path) -> bool:
    try:
        return bool(folder.stat().st_mode & stat.S_IXOTH)
    except OSError:
        return False


def _is_mapped(numbers: range) -> bool:
    """Return whether this process's user namespace maps these ids, for users and groups."""
    try:
        maps = [Path(f"/proc/self/{kind}_map").read_text(encoding="ascii") for kind in ("uid", "gid")]
    except OSError:
        return False
    spans = [
        [
            range(int(first), int(first) + int(length))
            for first, _, length in map(str.split, text.splitlines())
        ]
        for text in maps
    ]
    return all(any(numbers[0] in span and numbers[-1] in span for span in of_kind) for of_kind in spans)

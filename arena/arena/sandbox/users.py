"""The user a bot runs as: nobody's, if the arena is root and such a user can reach what the bot needs."""

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
"""Numbers no user has, by the list at https://systemd.io/UIDS-GIDS; a container may have the second only."""
_next = itertools.count(os.getpid())


def unused_user(needed: Iterable[str], below: str) -> int | None:
    """Give the number of a user that has no files and no other process, or None to stay who we are.

    Only root can become another. It stays root where `needed` (files and folders) are not open to everybody,
    and where the folder `below`, which is for scratch folders, cannot be passed by everybody.
    """
    return _draw_user() if all(map(is_open_to_all, needed)) and may_pass(below) else None


def unused_user_inside(shown: Iterable[str]) -> int | None:
    """Do as `unused_user` for a container, whose files are bound: the folders above them do not matter."""
    return _draw_user() if all(map(_may_read, shown)) else None


def _draw_user() -> int | None:
    """Return another number at each call; None where the arena is not root, or these numbers are no users."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return None
    numbers = next((numbers for numbers in _RANGES if _is_mapped(numbers)), None)
    return None if numbers is None else numbers[next(_next) % len(numbers)]


def is_open_to_all(path: str) -> bool:
    """Say whether any user may read a file or folder, which takes entering all folders above it.

    Links are followed as the kernel does: the folders a link lies in count too.
    """
    absolute = Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow the links that are to be judged
    return _is_open(str(absolute)) and _is_open(os.path.realpath(absolute))


def may_pass(folder: str) -> bool:
    """Say whether any user may go through a folder and all above it."""
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
    """Say whether the user namespace we are in knows these numbers, for users and groups."""
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

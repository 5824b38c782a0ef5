"""Follows links only as far as their owners may be trusted, so that no link exposes another user's file."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from arena.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_LINKS = 40
"""Maximum number of consecutive links, as in Linux."""


def follow(what: str, path: Path) -> Path:
    """Return the absolute path of a file or folder with all links resolved.

    The arena can often read more than the author of a bot can, because its user is a teacher or root. Through
    a link in the author's folder such a file would be copied to where the bot can read it. Therefore a link
    owned by another user (except root) is followed only to files of the same owner.

    Args:
        what: the competitor, for the message.
        path: the file or folder; a missing one is resolved as far as it exists.

    Raises:
        PluginError: a link owned by another user leads to a file of a different owner.
    """
    real = Path(os.path.realpath(path))
    if os.name != "posix":
        return real
    trusted = {0, os.geteuid()}
    for link in _links(path):
        user = _user_of(link)
        if user not in trusted and real.exists() and _user_of(real) != user:
            raise PluginError(
                f"{what}: {link} is a link of user {user} to {real}, which belongs to somebody else; "
                "put a copy of the file in its place"
            )
    return real


def _user_of(path: Path) -> int:
    return path.lstat().st_uid


def _links(path: Path) -> Iterator[Path]:
    """Yield each link that is followed on the way to a path."""
    # Step by step: `realpath` says where a path ends, but not whose links it takes.
    place, waiting, num_links = Path("/"), [*reversed(path.absolute().parts[1:])], 0
    while waiting and num_links < _MAX_LINKS:
        part = waiting.pop()
        if part == "..":
            place = place.parent
            continue
        step = place / part
        try:
            if not stat.S_ISLNK(step.lstat().st_mode):
                place = step
                continue
            target = step.readlink()
        except (OSError, ValueError):  # it does not exist, or is not a valid path
            return
        yield step
        num_links += 1
        if target.is_absolute():
            place = Path("/")
            target = target.relative_to("/")
        # The rest of the path continues from the target, which may contain links itself.
        waiting += reversed(target.parts)

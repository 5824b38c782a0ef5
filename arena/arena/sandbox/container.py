"""The content of a container's root: which host files appear where, links to them, and hidden paths."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from arena.sandbox.launch.container_paths import CONTENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from arena.sandbox.readable import Readable

LIBRARIES = (
    *("/lib", "/lib32", "/lib64", "/libx32"),
    *("/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/usr/local/lib"),
    *("/etc/ld.so.cache", "/etc/localtime", "/usr/share/zoneinfo", "/sys/devices/system/cpu"),
)
"""Parts of the system, besides procfs, that programs need: libraries, time zones, processor count."""
_MAX_LINKS = 40
"""Maximum number of links to follow, the same as in the kernel."""

Entry = tuple[str, str]


@lru_cache(maxsize=32)
def container_entries(readable: Readable) -> list[Entry]:
    """Return the recipe entries that show these files in a container, see `sandbox.launch.view`."""
    real: set[str] = set()
    links: dict[str, str] = {}
    for path in (*LIBRARIES, *readable.shown):
        _follow(path, real, links)
    shown = sorted(_outermost(real))
    content = [(readable.content, CONTENT), *readable.also] if readable.content else []
    return [
        *(entry for path, place in content for entry in (("from", path), ("to", place))),
        *(entry for path in shown for entry in (("from", path), ("to", path))),
        *(
            entry
            for place, target in sorted(links.items())
            if not _is_below(place, shown)
            for entry in (("link", target), ("at", place))
        ),
        *(("hide", path) for path in sorted(_outermost(readable.hidden)) if _is_below(path, shown)),
    ]


def _follow(path: str, real: set[str], links: dict[str, str]) -> None:
    """Record the file or folder that a path names, and each link on the way to it, if it exists."""
    parts = list(reversed(Path(os.path.abspath(path)).parts[1:]))  # noqa: PTH100 - must keep links
    here, found = "/", dict[str, str]()
    while parts:
        part = parts.pop()
        if part == "..":
            here = os.path.dirname(here)  # noqa: PTH120 - pure text operation
            continue
        here = os.path.join(here, part)  # noqa: PTH118 - pure text operation
        try:
            target = os.readlink(here)  # noqa: PTH115 - fast failure matters, since most are not links
        except OSError:
            continue
        found[here] = target
        if len(found) > _MAX_LINKS:
            return
        parts += reversed([word for word in target.split("/") if word not in {"", "."}])
        here = "/" if target.startswith("/") else os.path.dirname(here)  # noqa: PTH120 - pure text operation
    if os.access(here, os.F_OK):
        real.add(here)
        links |= found


def _outermost(paths: Iterable[str]) -> Iterator[str]:
    """Yield the paths that are not inside any other of the paths."""
    last = ""
    for path in sorted(set(paths), key=lambda path: f"{path}/"):
        if not last or not path.startswith(last):
            last = f"{path}/"
            yield path


def _is_below(path: str, folders: Iterable[str]) -> bool:
    return any(path.startswith(f"{folder}/") for folder in folders)

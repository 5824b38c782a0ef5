"""Which files a bot may read: the system's libraries, the interpreter, the packages, never another bot's."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from arena.errors import StoreError
from arena.home import cache, home, store_path
from arena.own import interpreter
from arena_plugins.entries import BOTS, list_plugins

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SYSTEM = (
    *("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib"),
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/usr/share/zoneinfo"),
    *("/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu"),
    # Who may write to it can map it shared, which is shared memory without a file: it counts for no process.
    "/dev/zero",
)
"""What programs need of the system: libraries, time zones, the kind and number of processors."""
DEVICES = ("/dev/full", "/dev/null", "/dev/random", "/dev/urandom")
_SITE = frozenset({"site-packages", "dist-packages"})
_LONGEST_FIRST_LINE = 256
"""Bytes Linux reads of it."""
_MODULE_ENDS = (".py", ".pyc", ".so", ".zip")


class Readable(NamedTuple):
    """Files and folders a process may read and execute, beside `SYSTEM`."""

    paths: tuple[str, ...]
    """With all that is in them."""
    names: tuple[str, ...] = ()
    """Folders in which only names may be seen, in folders below too: an import looks for what is there."""
    hidden: tuple[str, ...] = ()
    """Files and folders that a container shows empty, inside what it shows whole."""
    shown: tuple[str, ...] = ()
    """What a container shows, but for `hidden`; the same files as `paths`, in as few mounts as possible."""

    def with_program(self, command: Sequence[str]) -> Readable:
        """Give this and what a program needs: each word that is a file, with what lies beside that.

        For one in a folder `bin` that is the folder `lib` next to it, as of an interpreter. A script gets the
        program its first line names, too.
        """
        found = self
        for word in [*command, *_interpreter(command)]:
            place = shutil.which(word) or word
            if os.path.isfile(place):  # noqa: PTH113 - no error where it may not be looked at
                for file in map(Path, (os.path.abspath(place), os.path.realpath(place))):  # noqa: PTH100 - unresolved
                    found = _joined(found, _beside(file))
        return found

    def with_files(self, files: Iterable[str]) -> Readable:
        """Give this and those of `files` that exist; others, and relative paths, are passed over."""
        more = [os.path.realpath(file) for file in files if Path(file).is_absolute() and _exists(file)]
        return self._replace(paths=(*self.paths, *more), shown=(*self.shown, *more))


def bot_readable(entry: str, path: Sequence[str], files: Iterable[str] = ()) -> Readable:
    """Give what the host of a bot needs to read, without the files of other bots.

    Args:
        entry: the bot's entry point, `module` or `module:attr`.
        path: the host's `sys.path`.
        files: more files and folders, such as those the bot's options name.
    """
    return python_readable(tuple(path), entry.partition(":")[0]).with_files(files)


@lru_cache(maxsize=32)
def python_readable(path: tuple[str, ...], module: str = "") -> Readable:
    """Give what Python needs to read with this `sys.path`, without the files of other bots than `module`."""
    hidden = [*_arenas_own(), *_other_bots(path, module)]
    base = Path(sys.base_prefix)
    own = (os.path.realpath(interpreter()), str(Path(sys.prefix, "pyvenv.cfg")))
    found = Readable(own, shown=(interpreter(), own[1]))
    for folder in (base / "lib", *map(Path, path)):
        if folder.name in _SITE or folder.is_relative_to(base / "lib") or folder.is_file():
            found = _joined(found, _without(folder, hidden))
        else:
            found = _joined(found, Readable((), (str(folder),)))
            for child in filter(_is_module, _children(folder)):
                found = _joined(found, _without(child, hidden))
    return Readable(*(tuple(dict.fromkeys(part)) for part in found))


def _interpreter(command: Sequence[str]) -> list[str]:
    """Give the words after `#!` at the start of a script."""
    place = shutil.which(command[0])
    if place is None:
        return []
    with suppress(OSError), Path(place).open("rb") as file:
        line = file.readline(_LONGEST_FIRST_LINE)
        return os.fsdecode(line[2:]).split() if line.startswith(b"#!") else []
    return []


def _beside(file: Path) -> Readable:
    if file.parent.name == "bin":
        return _joined(_whole(str(file)), _without(file.parent.parent / "lib", _arenas_own()))
    # A program that lies about at home or among temporary files takes nothing along.
    others = (Path.home(), Path(tempfile.gettempdir()), *_arenas_own())
    is_wide = any(Path(os.path.realpath(other)).is_relative_to(file.parent) for other in others)
    return _whole(str(file if is_wide else file.parent))


def _whole(path: str) -> Readable:
    return Readable((path,), shown=(path,))


def _joined(one: Readable, other: Readable) -> Readable:
    return Readable(*((*first, *second) for first, second in zip(one, other, strict=True)))


def _arenas_own() -> list[Path]:
    own = [home(), cache()]
    # If what is named is no file, there is none to hide.
    with suppress(StoreError):
        own.append(store_path())
    return [Path(os.path.realpath(path)) for path in own]


def _other_bots(path: Sequence[str], module: str) -> list[Path]:
    """Give where the modules of other bots lie, and nothing that `module` is a part of or consists of."""
    others = {entry.value.partition(":")[0] for entry in list_plugins(BOTS, path).entries.values()}
    return [
        Path(os.path.realpath(place))
        for other in others
        if not f"{module}.".startswith(f"{other}.") and not f"{other}.".startswith(f"{module}.")
        for folder in path
        for place in (Path(folder, *other.split(".")), Path(folder, *other.split(".")).with_suffix(".py"))
        if _exists(place)
    ]


def _without(path: Path, hidden: Sequence[Path]) -> Readable:
    """Return `path` or, if something in it is hidden, its names and what else is in it."""
    real = Path(os.path.realpath(path))
    if any(real.is_relative_to(secret) for secret in hidden):
        return Readable(())
    inside = [secret for secret in hidden if secret.is_relative_to(real)]
    if not inside:
        return _whole(str(path))
    found = Readable((), (str(path),))
    for child in _children(path):
        found = _joined(found, _without(child, hidden))
    return found._replace(hidden=tuple(map(str, inside)), shown=(str(path),))


def _exists(path: str | Path) -> bool:
    """Say whether there is such a file or folder that may be looked at, which `Path.exists` may raise on."""
    return os.access(path, os.F_OK)


def _children(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _is_module(path: Path) -> bool:
    """Say whether something in a folder of `sys.path`, which may hold anything, looks like a module."""
    if path.suffix in _MODULE_ENDS or path.suffix in {".dist-info", ".egg-info"}:
        return True
    return (
        path.name.isidentifier()
        and os.path.isdir(path)  # noqa: PTH112 - no error where it may not be looked at
        and any(child.suffix in _MODULE_ENDS for child in _children(path))
    )

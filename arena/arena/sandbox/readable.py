"""The files a bot may read: system libraries, the interpreter, packages, but never another bot's files."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from arena.errors import StoreError
from arena.home import cache, home, store_file
from arena.own_python import interpreter
from arena.sandbox.runtimes import runtime_files, script_programs
from arena_plugins.entries import BOTS, list_plugins

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SYSTEM = (
    *("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib"),
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/usr/share/zoneinfo"),
    *("/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu"),
    # A process that may write to it can map it as shared memory without a file, which no process is charged
    # for.
    "/dev/zero",
)
"""Parts of the system that programs need: libraries, time zones, kind and number of processors."""
DEVICES = ("/dev/full", "/dev/null", "/dev/random", "/dev/urandom")
_SITE = frozenset({"site-packages", "dist-packages"})
_MODULE_ENDS = (".py", ".pyc", ".so", ".zip")


class Readable(NamedTuple):
    """Files and folders that a process may read and execute, in addition to `SYSTEM`."""

    paths: tuple[str, ...]
    """Files, and folders with all their content."""
    names: tuple[str, ...] = ()
    """Folders in which, at any depth, only names are visible, because an import lists folders."""
    hidden: tuple[str, ...] = ()
    """Files and folders that appear empty in a container, inside folders that are shown."""
    shown: tuple[str, ...] = ()
    """What a container shows, except `hidden`; the same files as `paths`, with as few mounts as possible."""

    content: str = ""
    """The folder of the bot's content, which a container shows as `/bot`; empty without content."""
    also: tuple[tuple[str, str], ...] = ()
    """Folders of the content, each with another path at which a container shows it."""

    def with_content(self, folder: str) -> Readable:
        """Return a copy that includes the content of a bot, a folder of this machine."""
        return self._replace(paths=(*self.paths, folder), content=folder)

    def with_runtime(self, program: str) -> Readable:
        """Return a copy that includes the files a program needs, and, for a script, its interpreter's."""
        more = [path for each in (program, *script_programs(program)) for path in runtime_files(each)]
        return self.with_files(more)

    def with_files(self, files: Iterable[str]) -> Readable:
        """Return a copy that includes those `files` that exist and are absolute."""
        more = [file for file in files if Path(file).is_absolute() and _exists(file)]
        return self._replace(paths=(*self.paths, *more), shown=(*self.shown, *more))


@lru_cache(maxsize=32)
def python_readable(path: tuple[str, ...]) -> Readable:
    """Return the files that Python reads with this `sys.path`, without the modules of any bot."""
    hidden = [*_arenas_own(), *_modules_of_bots(path)]
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
    return Readable(_once(found.paths), _once(found.names), _once(found.hidden), _once(found.shown))


def _once(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(paths))


def _whole(path: str) -> Readable:
    return Readable((path,), shown=(path,))


def _joined(one: Readable, other: Readable) -> Readable:
    return Readable(
        (*one.paths, *other.paths),
        (*one.names, *other.names),
        (*one.hidden, *other.hidden),
        (*one.shown, *other.shown),
        one.content or other.content,
        (*one.also, *other.also),
    )


def _arenas_own() -> list[Path]:
    # libpq reads the passwords of servers from these files.
    own = [home(), cache(), *(Path(name).expanduser() for name in ("~/.pgpass", "~/.pg_service.conf"))]
    # If the store is not a file, there is no file to hide.
    with suppress(StoreError):
        file = store_file()
        own += [] if file is None else [file]
    return [Path(os.path.realpath(path)) for path in own]


def _modules_of_bots(path: Sequence[str]) -> list[Path]:
    """Return the paths of bots' modules, which are hidden because each bot runs from a copy of its code."""
    modules = {entry.value.partition(":")[0] for entry in list_plugins(BOTS, path).entries.values()}
    return [
        Path(os.path.realpath(place))
        for module in modules
        for folder in path
        for place in (Path(folder, *module.split(".")), Path(folder, *module.split(".")).with_suffix(".py"))
        if _exists(place)
    ]


def _without(path: Path, hidden: Sequence[Path]) -> Readable:
    """Grant `path`; if it contains hidden paths, grant its names and each other part of its content."""
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
    """Return whether a path exists and may be examined; `Path.exists` may raise if it may not."""
    return os.access(path, os.F_OK)


def _children(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _is_module(path: Path) -> bool:
    """Return whether an entry of a `sys.path` folder, which may contain anything, looks like a module."""
    if path.suffix in _MODULE_ENDS or path.suffix in {".dist-info", ".egg-info"}:
        return True
    return (
        path.name.isidentifier()
        and os.path.isdir(path)  # noqa: PTH112 - does not raise if access is denied
        and any(child.suffix in _MODULE_ENDS for child in _children(path))
    )

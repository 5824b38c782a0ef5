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
    base = Path(sys.base_prefix)
    folders = [base / "lib", *map(Path, path)]
    own = (os.path.realpath(interpreter()), str(Path(sys.prefix, "pyvenv.cfg")))
    hidden = [*_arenas_own(), *_modules_of_bots(list(map(str, folders[1:])))]
    # It handles paths as text: `pathlib` took 14 ms of the start of each worker.
    found = _Found(hidden)
    found.paths += own
    found.shown += (interpreter(), own[1])
    for folder in folders:
        if folder.name in _SITE or folder.is_relative_to(base / "lib") or folder.is_file():
            found.add(str(folder))
        else:
            found.names.append(str(folder))
            for child in filter(_is_module, _children(str(folder))):
                found.add(child.path)
    fields = (found.paths, found.names, found.inside, found.shown)
    paths, names, inside, shown = (tuple(dict.fromkeys(field)) for field in fields)
    return Readable(paths, names, inside, shown)


class _Found:
    """The fields of a `Readable` while it is built."""

    def __init__(self, hidden: Sequence[str]) -> None:
        """Begin with nothing; `hidden` are real paths that are never granted."""
        self.paths: list[str] = []
        self.names: list[str] = []
        self.inside: list[str] = []
        """The hidden paths that are inside a shown path."""
        self.shown: list[str] = []
        self._hidden = hidden
        self._secrets = tuple(map(_below, hidden))

    def add(self, path: str) -> None:
        """Grant a file, or a folder with its content, except what is hidden."""
        real = os.path.realpath(path)
        if not self._is_hidden(real):
            self.inside += self._hidden_in(real)
            self.shown.append(path)
            self._grant(path, real)

    def _grant(self, path: str, real: str) -> None:
        """Grant a path that contains hidden ones by its names and each other part of its content."""
        if not self._hidden_in(real):
            self.paths.append(path)
            return
        self.names.append(path)
        for child in _children(path):
            is_link = os.path.islink(child.path)  # noqa: PTH114 - text
            own = os.path.realpath(child.path) if is_link else f"{real}{os.sep}{child.name}"
            if not self._is_hidden(own):
                self._grant(child.path, own)

    def _is_hidden(self, real: str) -> bool:
        return _below(real).startswith(self._secrets)

    def _hidden_in(self, real: str) -> list[str]:
        inside = _below(real)
        return [secret for secret in self._hidden if _below(secret).startswith(inside)]


def _below(path: str) -> str:
    """Return the text with which all paths in a folder begin, and with a separator the folder itself."""
    return f"{path.rstrip(os.sep)}{os.sep}"


def _arenas_own() -> list[str]:
    # libpq reads the passwords of servers from these files.
    own = [home(), cache(), *(Path(name).expanduser() for name in ("~/.pgpass", "~/.pg_service.conf"))]
    # If the store is not a file, there is no file to hide.
    with suppress(StoreError):
        file = store_file()
        own += [] if file is None else [file]
    return list(map(os.path.realpath, own))


def _modules_of_bots(path: Sequence[str]) -> list[str]:
    """Return the paths of bots' modules, which are hidden because each bot runs from a copy of its code."""
    modules = {entry.value.partition(":")[0] for entry in list_plugins(BOTS, path).entries.values()}
    return [
        os.path.realpath(place)
        for module in modules
        for folder in path
        for place in (f"{folder}/{module.replace('.', '/')}", f"{folder}/{module.replace('.', '/')}.py")
        if _exists(place)
    ]


def _exists(path: str | Path) -> bool:
    """Return whether a path exists and may be examined; `Path.exists` may raise if it may not."""
    return os.access(path, os.F_OK)


def _children(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def _is_module(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry of a `sys.path` folder, which may contain anything, looks like a module."""
    if _suffix(entry) in {*_MODULE_ENDS, ".dist-info", ".egg-info"}:
        return True
    return (
        entry.name.isidentifier()
        and os.path.isdir(entry.path)  # noqa: PTH112 - does not raise if access is denied
        and any(_suffix(child) in _MODULE_ENDS for child in _children(entry.path))
    )


def _suffix(entry: os.DirEntry[str]) -> str:
    return os.path.splitext(entry.name)[1]  # noqa: PTH122 - text

"""Writes the launcher's recipe: user, limits, accessible files or the root of a container, command."""

from __future__ import annotations

import itertools
import os
import secrets
import stat
import sys
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from arena.errors import ConfigError
from arena.own_python import interpreter
from arena.sandbox.launch.calls import ALLOWABLE
from arena.sandbox.launch.container_paths import (
    COMPILED,
    CONTENT,
    FILLS,
    NO_PROCFS,
    OWN_PROCFS,
    SCRATCH,
    WHOLE_PROCFS,
)
from arena.sandbox.readable import DEVICES, SYSTEM, python_readable
from arena.sandbox.resources import environment
from arena.sandbox.starter import LAUNCHER
from arena.sandbox.tier import Tier, landlock_abi, namespace_mode, tiers_to_try

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from arena.sandbox.process_settings import ProcessSettings
    from arena.sandbox.readable import Readable
    from arena.sandbox.resources import Resources
    from arena.sandbox.scratch import ScratchFolder

Entries = list[tuple[str, str]]


def make_recipe(settings: ProcessSettings, scratch: ScratchFolder) -> tuple[Entries, int | None]:
    """Return the entries of a recipe, and the user id the process changes to (None if it keeps its own).

    Raises:
        ConfigError: the tier is not one for processes, or is not available on this system.
    """
    command, tier, resources, engine = settings.command, settings.tier, settings.resources, settings.engine
    if tier is Tier.T0:
        raise ConfigError(
            "tier T0 does not start processes; run the bot in the arena's own process (--isolation none)"
        )
    if tier not in tiers_to_try():
        raise ConfigError(
            f"tier {tier} is not available on this system; arena doctor shows the available tiers"
        )
    readable = settings.readable or python_readable(tuple(sys.path))
    in_container = tier is Tier.T3
    if in_container:
        user = _unused_user_inside(filter(os.path.exists, readable.shown))
    else:
        programs = (interpreter(), LAUNCHER, command[0], *(engine or ())[:1])
        needed = [*programs, *filter(os.path.exists, readable.paths)]
        user = unused_user(needed, below=str(scratch.root.parent))
    # The launcher compares it with its own parent, to notice an arena that died meanwhile.
    entries = [("parent", str(os.getpid())), ("tier", tier.value)]
    entries += [("limit", limit) for limit in resources.rlimits()]
    if user is not None:
        entries.append(("user", str(user)))
    if user is not None or (in_container and namespace_mode() == "user"):
        # For a shared user the kernel would count all processes of that user.
        entries.append(("limit", f"NPROC={resources.tasks}"))
    # Always stated, because a process cloned by the starter has the starter's cores instead of the present
    # ones of this process.
    if hasattr(os, "sched_getaffinity"):
        entries += [("core", str(core)) for core in sorted(os.sched_getaffinity(0))]
    if in_container:
        entries += _container(readable, resources, scratch)
    else:
        entries += [("folder", str(scratch.home)), *_environment(str(scratch.home), str(scratch.cache))]
    if tier >= Tier.T2:
        entries += _locks(readable, resources, scratch, in_container=in_container)
    entries += [("command", part) for part in command]
    entries += [("engine", part) for part in engine or ()]
    return entries, user


def encode(entries: Sequence[tuple[str, str]]) -> bytes:
    """Encode a recipe in the form that the launcher reads.

    Raises:
        ValueError: a value contains a NUL byte.
    """
    if any("\0" in value for _, value in entries):
        raise ValueError("embedded null byte")
    return b"".join(os.fsencode(f"{key}={value}") + b"\0" for key, value in entries)


def _environment(home: str, cache: str, path: str = "") -> Entries:
    found = environment(home, cache) | ({"PATH": path} if path else {})
    return [("environment", f"{name}={value}") for name, value in found.items()]


def _programs_path(readable: Readable) -> str:
    """Return the PATH of a container: the folders of programs that it shows, not those of the host."""
    shown = [folder for path in readable.shown if (folder := os.path.dirname(path)).endswith("/bin")]  # noqa: PTH120 - text
    return os.pathsep.join(dict.fromkeys([*shown, "/usr/local/bin", "/usr/bin", "/bin"]))


def _container(readable: Readable, resources: Resources, scratch: ScratchFolder) -> Entries:
    return [
        ("namespaces", namespace_mode()),
        ("uid", str(os.getuid())),
        ("gid", str(os.getgid())),
        ("base", str(scratch.root)),
        ("scratch", str(resources.scratch_bytes)),
        ("inodes", str(resources.scratch_entries)),
        *([("compiled", resources.compiled)] if resources.compiled else []),
        *(("fill", what) for what in resources.withheld if what in FILLS),
        ("procfs", _procfs(resources)),
        *_environment(SCRATCH, COMPILED, _programs_path(readable)),
        *container_entries(readable),
    ]


def _procfs(resources: Resources) -> str:
    if "procfs" in resources.withheld:
        return NO_PROCFS
    return WHOLE_PROCFS if resources.procfs else OWN_PROCFS


def _locks(
    readable: Readable, resources: Resources, scratch: ScratchFolder, *, in_container: bool
) -> Entries:
    if in_container:
        # Everything in a container was put there for the bot, or cannot be changed.
        files = [("read", "/"), ("write", SCRATCH)]
        allowed = resources.allow if "attributes" in resources.withheld else tuple(ALLOWABLE)
        calls = [("allow", name) for name in allowed]
    else:
        system = [*SYSTEM, "/proc"] if resources.procfs else SYSTEM
        files = [
            *(("read", path) for path in (*system, *readable.paths)),
            *(("names", path) for path in readable.names),
            *(("write", str(path)) for path in (scratch.home, scratch.cache)),
        ]
        calls = [("allow", name) for name in resources.allow]
    landlock = [*files, *(("device", path) for path in DEVICES)] if landlock_abi() else []
    return [("locks", ""), *landlock, *calls]


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
    # A stack of what remains to be walked: the target of a link is put on top of it.
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
    # With the slash at the end, "/a-b" does not come between "/a" and "/a/c", as it would by plain text.
    for path in sorted(set(paths), key=lambda path: f"{path}/"):
        if not last or not path.startswith(last):
            last = f"{path}/"
            yield path


def _is_below(path: str, folders: Iterable[str]) -> bool:
    return any(path.startswith(f"{folder}/") for folder in folders)


_RANGES = (range(0x70000000, 0x7FFFFFFF), range(60706, 61184))
"""User ids of no account, per https://systemd.io/UIDS-GIDS; a container may map only the second range."""
_SMALL_RANGE = 1 << 16
"""In a range with fewer ids than this, two arenas may well choose the same one by chance: while 16 bots run,
one start in 30 would choose an id that is in use, if there are 478."""
# From a random number on: arenas that run at the same time, and the worker processes of one arena, know
# nothing of each other. In the first range, their users then differ.
_next = itertools.count(secrets.randbelow(len(_RANGES[0])))


def unused_user(needed: Iterable[str], below: str) -> int | None:
    """Return the id of a user without files and other processes, or None to keep the current user.

    Only root can change its user. It stays root if `needed` (files and folders) are not readable by
    everybody, or if everybody may not pass through `below`, the parent of scratch folders.
    """
    return _draw_user() if all(map(is_open_to_all, needed)) and may_pass(below) else None


def _unused_user_inside(shown: Iterable[str]) -> int | None:
    """Return an unused user id for a container; the parents of its bound files do not matter there."""
    return _draw_user() if all(map(_may_read, shown)) else None


def _draw_user() -> int | None:
    """Return a new id at each call; None if the arena is not root, or these ids are not mapped."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return None
    numbers = next((numbers for numbers in _RANGES if _is_mapped(numbers)), None)
    if numbers is None:
        return None
    # A new one each time: bots of one user could signal each other and would share one limit of processes.
    drawn = (numbers[next(_next) % len(numbers)] for _ in numbers)
    user = next(drawn)
    busy = _users_with_processes() if len(numbers) < _SMALL_RANGE else set[int]()
    return next((another for another in itertools.chain([user], drawn) if another not in busy), user)


def _users_with_processes() -> set[int]:
    """Return the ids of all users that run a process, as far as this process can see."""
    users: set[int] = set()
    with os.scandir("/proc") as entries:
        for entry in entries:
            # A process may end meanwhile.
            with suppress(OSError):
                users.add(entry.stat().st_uid)
    return users


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

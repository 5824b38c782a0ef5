"""Lists plugins from the metadata of installed distributions, without importing any of them."""

from __future__ import annotations

import os
import re
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from arena_plugins.errors import PluginError
from arena_plugins.spec import NAME, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from importlib.metadata import Distribution

BOTS = "arena.bots"
"""The entry point group of bots."""
GAMES = "arena.games"
"""The entry point group of games."""
TRAINERS = "arena.trainers"
"""The entry point group of trainers."""
_MOST = 256
"""Maximum length in characters of a distribution's name, and of its version."""
NUM_DIGITS = 8
"""Number of hex digits of a content hash that are displayed."""
_GROUPS = "arena."
"""Prefix of the groups."""
_NAME_FIELD = re.compile(r"^Name:[ \t]*(\S+)", re.MULTILINE)
_VERSION_FIELD = re.compile(r"^Version:[ \t]*(.*\S)", re.MULTILINE)


class Entry(NamedTuple):
    """One entry point, as declared in the metadata of its distribution."""

    name: str
    """The name of the bot or game."""
    value: str
    """The object it refers to: `module` or `module:attr`."""
    distribution: str
    """The name of the distribution that declares it."""
    version: str
    """The version of `distribution`."""
    folder: str = ""
    """The distribution's private folder, first on the bot's path; empty in the arena's own environment."""
    digest: str = ""
    """SHA-256 of the wheel it was installed from, in hex; empty in the arena's own environment."""

    @property
    def address(self) -> str:
        """The shortest spec that is unambiguous: `name@3f2a91c0`, or `name@version` without a digest."""
        return f"{self.name}@{self.digest[:NUM_DIGITS] or self.version}"


class Problem(NamedTuple):
    """An entry point that cannot be used, and why."""

    entry: Entry
    reason: str


class Listing(NamedTuple):
    """The entry points of a group."""

    entries: Mapping[str, Entry]
    """The usable entry points by name, sorted."""
    problems: tuple[Problem, ...]
    """Malformed names, and one problem for each entry point of a name that is declared more than once."""
    older: Mapping[str, tuple[Entry, ...]] = {}
    """For each name, all versions except the newest (which is in `entries`), newest first."""

    def versions_of(self, name: str) -> tuple[Entry, ...]:
        """Return all versions of a usable bot, newest first.

        Raises:
            KeyError: there is no usable bot of that name.
        """
        return self.entries[name], *self.older.get(name, ())


def list_plugins(group: str, path: Sequence[str] | None = None) -> Listing:
    """List a group of entry points on `path` (default `sys.path`) from metadata; nothing is imported."""
    return make_listing(offers(group, path))


def make_listing(offered: Iterable[Entry]) -> Listing:
    """Separate usable entry points from problems; an entry that is found twice in one place counts once."""
    by_name: dict[str, list[Entry]] = {}
    problems: list[Problem] = []
    for entry in sorted(set(offered)):
        if len(entry.distribution) > _MOST or len(entry.version) > _MOST:
            problems.append(
                Problem(entry, f"its name or version in the metadata is longer than {_MOST} characters")
            )
        elif NAME.match(entry.name):
            by_name.setdefault(entry.name.casefold(), []).append(entry)
        else:
            problems.append(
                Problem(entry, f"{entry.name!r} is not a name (letters, digits, _ . -, at most 64)")
            )
    entries: dict[str, Entry] = {}
    for same in by_name.values():
        if len(same) == 1:
            entries[same[0].name] = same[0]
            continue
        owners = " and ".join(
            f"{entry.distribution} {entry.version} ({entry.folder or entry.value})" for entry in same
        )
        way_out = "; arena bots remove uninstalls a bot that has its own folder" * any(
            entry.folder for entry in same
        )
        problems += [
            Problem(entry, f'"{entry.name}" is offered by {owners}; uninstall all but one{way_out}')
            for entry in same
        ]
    return Listing(dict(sorted(entries.items())), tuple(problems))


def find(group: str, name: str, path: Sequence[str] | None = None) -> Entry:
    """Return the entry point with a given name.

    Raises:
        PluginError: no entry point, or more than one, has that name.
    """
    return pick(list_plugins(group, path), group, name)


def pick(listing: Listing, group: str, name: str) -> Entry:
    """Return the entry point with a given name from the listing of its group.

    Raises:
        PluginError: no entry point, or more than one, has that name.
    """
    if name in listing.entries:
        return listing.entries[name]
    for problem in listing.problems:
        if problem.entry.name.casefold() == name.casefold():
            raise PluginError(problem.reason)
    known = ", ".join(listing.entries) or "none"
    way_out = "arena bots list shows all" if group == BOTS else f"installed: {known}"
    raise PluginError(f'no {noun_of(group)} "{name}"{nearest(name, listing.entries)} ({way_out})')


def noun_of(group: str) -> str:
    """Return the word for one plugin of a group: `bot` for `arena.bots`."""
    return group.removeprefix("arena.").removesuffix("s")


def offers(group: str, path: Sequence[str] | None = None) -> Iterator[Entry]:
    """Return the unchecked entry points of a group on `path` (default `sys.path`); nothing is imported."""
    stamped = ((folder, _stamp(folder)) for folder in (sys.path if path is None else path))
    # A missing folder has nothing, and paths that differ only by such folders need not be searched twice.
    folders = tuple((folder, stamp) for folder, stamp in stamped if stamp is not None)
    return (entry for declared, entry in _installed(folders) if declared == group)


@lru_cache(maxsize=8)
def _installed(folders: tuple[tuple[str, int], ...]) -> tuple[tuple[str, Entry], ...]:
    """Return the entry points for the arena of all distributions, each with its group.

    Args:
        folders: the path, and the modification time of each folder. The times are only part of the cache key:
            an installation changes a folder and therefore its time.
    """
    # Imported here because the host of a bot imports this module and lists nothing.
    import importlib.metadata

    found: list[tuple[str, Entry]] = []
    seen: set[str] = set()
    for distribution in importlib.metadata.distributions(path=[folder for folder, _ in folders]):
        header = _header_of(distribution)
        name = _NAME_FIELD.search(header)
        if name is None:
            continue  # leftovers of an uninstalled distribution
        normal = re.sub(r"[-_.]+", "-", name[1]).casefold()
        # The first distribution on the path is the one that Python imports; a folder may be listed twice.
        if normal in seen:
            continue
        seen.add(normal)
        # Most distributions declare entry points, but few of them for the arena.
        if _GROUPS in (distribution.read_text("entry_points.txt") or ""):
            version = _version_in(header)
            found += [
                (point.group, Entry(point.name, point.value, name[1], version))
                for point in distribution.entry_points
            ]
    return tuple(found)


def version_of(name: str) -> str:
    """Return the version of an installed distribution, like `importlib.metadata.version`, but faster.

    The standard function parses all metadata including the description, which takes up to a millisecond.

    Raises:
        PackageNotFoundError: it is not installed.
    """
    import importlib.metadata

    return _version_in(_header_of(importlib.metadata.distribution(name)))


def _stamp(folder: str) -> int | None:
    try:
        return os.stat(folder).st_mtime_ns  # noqa: PTH116 - pathlib takes long to import, and each bot would wait
    except OSError:
        return None


def _header_of(distribution: Distribution) -> str:
    """Return the metadata of a distribution without its description; empty if it has none."""
    text = distribution.read_text("METADATA") or distribution.read_text("PKG-INFO") or ""
    return text.partition("\n\n")[0]


def _version_in(header: str) -> str:
    found = _VERSION_FIELD.search(header)
    return found[1] if found else ""

"""Collects the code of a plugin: a bundled bot, an installed wheel, or a package of the environment."""

from __future__ import annotations

import importlib.metadata
from contextlib import suppress
from functools import lru_cache
from importlib.machinery import PathFinder
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from arena.content.editable import (
    imported_modules,
    is_made,
    linked_folders,
    mapped_modules,
    project_of_links,
)
from arena.errors import PluginError
from arena_plugins.command import host_path
from arena_plugins.entries import BOTS, GAMES, offers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from importlib.metadata import Distribution

    from arena.content.collect import Collection
    from arena_plugins.entries import Entry

OURS = "bot-arena"
"""The distribution of the arena itself."""
LIB = "lib"
"""The folder of a content that comes first on its bot's `sys.path`."""
_BUNDLED = "arena_bots"
_ADAPTERS = f"{_BUNDLED}.adapters"
_OUR_PACKAGES = frozenset({"arena", "arena_plugins", "arena_bots", "arena_db"})
_INSTALLER = frozenset(
    {"RECORD", "RECORD.jws", "RECORD.p7s", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json"}
)
"""Files of a distribution's metadata that record how and from where it was installed."""
_GROUPS = "arena."
"""Prefix of the arena's entry point groups."""
_SITE = frozenset({"site-packages", "dist-packages"})
_SUFFIXES = (".py", ".pyc", ".so", ".pyd")


def collect_package(collection: Collection, entry: Entry) -> None:
    """Add the code of a bot to its collection.

    Raises:
        PluginError: one of its files cannot be read, or a limit is exceeded.
    """
    module = entry.value.partition(":")[0]
    collection.roots = (LIB,)
    if entry.folder:
        _add_shelved(collection, Path(entry.folder))
    elif entry.distribution == OURS:
        _add_bundled(collection, is_adapter=module.startswith(f"{_ADAPTERS}."))
    else:
        _add_installed(collection, entry)


def linked_bots() -> frozenset[str]:
    """Return the folders that editable installs of bots add to `sys.path`, except those with a game."""
    return _linked_bots(tuple(host_path()))


@lru_cache(maxsize=8)
def _linked_bots(path: tuple[str, ...]) -> frozenset[str]:
    games = {entry.distribution for entry in offers(GAMES, path)}
    names = {entry.distribution for entry in offers(BOTS, path)} - games - {OURS}
    found: set[str] = set()
    for name in names:
        with suppress(importlib.metadata.PackageNotFoundError):
            distribution = importlib.metadata.distribution(name)
            site = Path(str(distribution.locate_file("")))
            found |= set(linked_folders(site / file for file in _recorded(distribution)))
    return frozenset(found)


def is_installed(path: str) -> bool:
    """Return whether a file of a distribution was generated at installation by pip or an editable install."""
    parts = PurePosixPath(path).parts
    name = parts[-1]
    is_ours = ".." in parts or path.startswith("/") or "__pycache__" in parts
    in_metadata = len(parts) == 2 and parts[0].endswith((".dist-info", ".egg-info"))  # noqa: PLR2004
    return is_ours or is_made(name) or (in_metadata and name in _INSTALLER)


def _add_shelved(collection: Collection, lib: Path) -> None:
    scripts = "bin"
    collection.add_tree(LIB, lib, keeps=lambda path: path != scripts and not is_installed(path))
    for distribution in importlib.metadata.distributions(path=[str(lib)]):
        _add_needs(collection, distribution)


def _add_installed(collection: Collection, entry: Entry) -> None:
    """Add the recorded files of a distribution, and linked modules outside of it."""
    try:
        distribution = importlib.metadata.distribution(entry.distribution)
    except importlib.metadata.PackageNotFoundError:
        _add_module(collection, entry.value.partition(":")[0], host_path())
        return
    _add_needs(collection, distribution)
    recorded = _recorded(distribution)
    site = Path(str(distribution.locate_file("")))
    for path in recorded:
        if not is_installed(path) and (site / path).exists() and not _has_source(site / path):
            collection.add_file(f"{LIB}/{path}", site / path)
    editable = [site / path for path in recorded if path.endswith((".pth", ".py")) and "/" not in path]
    for name, place in mapped_modules(editable).items():
        _add_place(collection, name.replace(".", "/"), place)
    folders = [*linked_folders(editable), *host_path()]
    for module in _top_modules(distribution, entry):
        _add_module(collection, module, folders)
    if any(is_made(path) for path in recorded):
        _check_found(collection, entry)


def _check_found(collection: Collection, entry: Entry) -> None:
    """Refuse an editable install whose module can be located only by executing what the install left.

    Raises:
        PluginError: the module of the bot is not among the files.
    """
    module = entry.value.partition(":")[0].partition(".")[0]
    if not any(collection.covers(f"{LIB}/{module}{suffix}") for suffix in ("", *_SUFFIXES)):
        raise PluginError(
            f"{collection.what}: its editable install does not tell the arena in a readable way "
            f"where the module {module} is; install the project without -e, as in: pip install PROJECT"
        )


def _recorded(distribution: Distribution) -> list[str]:
    if distribution.read_text("RECORD") is None:
        return []
    return [file.as_posix() for file in distribution.files or ()]


def _has_source(file: Path) -> bool:
    return file.suffix == ".pyc" and file.with_suffix(".py").exists()


def _top_modules(distribution: Distribution, entry: Entry) -> list[str]:
    """Return the module names of a distribution: those of its plugins, and those it lists itself."""
    modules = [entry.value.partition(":")[0]]
    points = distribution.entry_points
    modules += [point.value.partition(":")[0] for point in points if point.group.startswith(_GROUPS)]
    modules += (distribution.read_text("top_level.txt") or "").split()
    return list(dict.fromkeys(module.strip() for module in modules if module.strip()))


def _add_needs(collection: Collection, distribution: Distribution) -> None:
    """Record the versions of a distribution and of its installed requirements, without the arena."""
    for line in distribution.requires or ():
        try:
            wanted = Requirement(line)
            if wanted.marker is not None and not wanted.marker.evaluate({"extra": ""}):
                continue
            version = importlib.metadata.version(wanted.name)
        except (InvalidRequirement, importlib.metadata.PackageNotFoundError):
            continue
        if canonicalize_name(wanted.name) != OURS:
            collection.needs.setdefault(str(canonicalize_name(wanted.name)), version)
    name = str(distribution.metadata["Name"])
    collection.needs[str(canonicalize_name(name))] = distribution.version


def _add_module(collection: Collection, module: str, folders: Sequence[str]) -> None:
    """Add the outermost package that contains a module, or the module, from the first folder that has it.

    Modules that it imports from a folder outside of site-packages belong to the bot, too.
    """
    parts = module.split(".")
    if any(collection.covers(f"{LIB}/{'/'.join(parts[:1])}{suffix}") for suffix in ("", *_SUFFIXES)):
        return
    for name, place in _find(parts, folders):
        _add_place(collection, name, place)
        if place.parent.name not in _SITE and "/" not in name:
            known = [str(place.parent)]
            for other in imported_modules(place, place.parent):
                if other not in _OUR_PACKAGES:
                    _add_module(collection, other, known)


def _add_bundled(collection: Collection, *, is_adapter: bool) -> None:
    """Add the bundled bots, which share the search code, or the adapters alone."""

    def keeps(path: str) -> bool:
        return not is_adapter or path in {"__init__.py", "adapters"} or path.startswith("adapters/")

    for name, place in _find([_BUNDLED], host_path()):
        collection.add_tree(f"{LIB}/{name}", place, keeps=keeps)


def _find(parts: Sequence[str], folders: Iterable[str]) -> Iterator[tuple[str, Path]]:
    """Locate the outermost regular package or module of a dotted name, in the way an import does.

    Yields:
        The name as a path, and the folder or file; several for a namespace package in several folders.
    """
    places = list(folders)
    for number, part in enumerate(parts, start=1):
        # Only the last part is looked up: for a dotted name the finder expects an imported parent.
        spec = PathFinder.find_spec(part, places)
        if spec is None:
            return
        name = "/".join(parts[:number])
        if spec.origin is not None and spec.submodule_search_locations is None:
            yield name, Path(spec.origin)
            return
        places = list(spec.submodule_search_locations or ())
        if spec.origin is not None or number == len(parts) or len(places) == 1:
            yield from ((name, Path(place)) for place in places)
            return


def _add_place(collection: Collection, name: str, place: Path) -> None:
    """Add a package (a folder) or a module (a file, whose suffix may be missing)."""
    if place.is_dir():
        collection.add_tree(f"{LIB}/{name}", place, within=project_of_links(place))
        return
    files = [place, *(place.with_name(f"{place.name}{suffix}") for suffix in _SUFFIXES)]
    for file in files:
        if file.is_file():
            ending = file.name.partition(".")[2]
            collection.add_file(f"{LIB}/{name}.{ending}", file)
            return

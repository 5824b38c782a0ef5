"""Collects the code of a plugin: bundled, from a wheel, from the environment or from an editable install."""

from __future__ import annotations

import ast
import importlib.metadata
import os
import warnings
from contextlib import suppress
from functools import lru_cache
from importlib.machinery import PathFinder
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

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
    collection.roots = (LIB,)
    if entry.folder:
        _add_shelved(collection, Path(entry.folder))
    elif part := bundled_part(entry):
        _add_bundled(collection, is_adapter=part == _ADAPTERS)
    else:
        _add_installed(collection, entry)


def bundled_part(entry: Entry) -> str:
    """Return the package that is the content of a bundled bot; empty if the bot is not bundled."""
    if entry.folder or entry.distribution != OURS:
        return ""
    return _ADAPTERS if entry.value.startswith(f"{_ADAPTERS}.") else _BUNDLED


def shared_path() -> list[str]:
    """Return the part of `sys.path` that all hosts share: the arena's, without folders of editable bots.

    Those folders hold code that belongs to no content, so it would be imported without being hashed.
    """
    path = host_path()
    linked = linked_bots(tuple(path))
    return [folder for folder in path if folder not in linked]


@lru_cache(maxsize=8)
def linked_bots(path: tuple[str, ...]) -> frozenset[str]:
    """Return the folders that editable installs of bots add to `path`, except those with a game."""
    games = {entry.distribution for entry in offers(GAMES, path)}
    names = {entry.distribution for entry in offers(BOTS, path)} - games - {OURS}
    found: set[str] = set()
    for name in names:
        with suppress(importlib.metadata.PackageNotFoundError):
            distribution = importlib.metadata.distribution(name)
            site = Path(str(distribution.locate_file("")))
            found |= set(_linked_folders(site / file for file in _recorded(distribution)))
    return frozenset(found)


def is_installed(path: str) -> bool:
    """Return whether a file of a distribution was generated at installation by pip or an editable install."""
    parts = PurePosixPath(path).parts
    name = parts[-1]
    is_ours = ".." in parts or path.startswith("/") or "__pycache__" in parts
    in_metadata = len(parts) == 2 and parts[0].endswith((".dist-info", ".egg-info"))  # noqa: PLR2004
    return is_ours or _is_made(name) or (in_metadata and name in _INSTALLER)


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
    for name, place in _mapped_modules(editable).items():
        _add_place(collection, name.replace(".", "/"), place)
    folders = [*_linked_folders(editable), *host_path()]
    for module in _top_modules(distribution, entry):
        _add_module(collection, module, folders)
    if any(_is_made(path) for path in recorded):
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
    # Only setuptools writes this file; it names modules that no entry point does.
    modules += (distribution.read_text("top_level.txt") or "").split()
    return list(dict.fromkeys(module.strip() for module in modules if module.strip()))


def _add_needs(collection: Collection, distribution: Distribution) -> None:
    """Record the versions of a distribution and of its installed requirements, without the arena."""
    # Imported here, because bundled bots and workers do not need it.
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.utils import canonicalize_name

    for line in distribution.requires or ():
        try:
            wanted = Requirement(line)
            # Extras are not evaluated: an installed requirement of an extra counts only if it is also
            # required without the extra.
            if wanted.marker is not None and not wanted.marker.evaluate({"extra": ""}):
                continue
            version = importlib.metadata.version(wanted.name)
        except (InvalidRequirement, importlib.metadata.PackageNotFoundError):
            continue
        if canonicalize_name(wanted.name) != OURS:
            # A version on the shelf, set below, is what the bot imports; that of this process may be another.
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
            # Only the folder of the module: what it imports from site-packages is a distribution, named in
            # `needs`.
            known = [str(place.parent)]
            for other in _imported_modules(place, place.parent):
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
        # A module, not a package: the rest of the dotted name is an attribute.
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
        collection.add_tree(f"{LIB}/{name}", place, within=_project_of_links(place))
        return
    files = [place, *(place.with_name(f"{place.name}{suffix}") for suffix in _SUFFIXES)]
    for file in files:
        if file.is_file():
            ending = file.name.partition(".")[2]
            collection.add_file(f"{LIB}/{name}.{ending}", file)
            return


_FINDER = "__editable___"
"""Name prefix of setuptools' module that maps module names to locations."""
_MAPPING = "MAPPING"
_REDIRECTOR = "_editable_impl_"
"""Name prefix of a module that calls `map_module(NAME, PLACE)` of the library editables."""
_LINK_TREE = "__editable__."
"""Name prefix of the folder in a project's `build` that setuptools' strict mode fills with links."""
_MADE = (_FINDER, _LINK_TREE, _REDIRECTOR)
_MAX_SOURCE = 4 << 20
"""Maximum size in bytes of a module that is scanned for imports."""
_UNREADABLE = (OSError, SyntaxError, ValueError, RecursionError, MemoryError)


def _linked_folders(files: Iterable[Path]) -> list[str]:
    """Return the folders that `.pth` files among `files` add to `sys.path`; lines of code are ignored."""
    found: list[str] = []
    for file in files:
        if file.suffix != ".pth":
            continue
        try:
            lines = file.read_text(encoding="utf-8").splitlines()
        except _UNREADABLE:
            continue
        for line in (line.strip() for line in lines):
            # As `site` reads it; a line of code could do anything, so it is never run to learn its folder.
            if line and not line.startswith(("#", "import ", "import\t")):
                place = Path(os.path.abspath(file.parent / line))  # noqa: PTH100 - must keep links
                if place.is_dir():
                    found.append(str(place))
    return found


def _is_made(name: str) -> bool:
    """Return whether the name of a file in site-packages is one that editable installs generate."""
    return name.endswith(".pth") or name.startswith(_MADE)


def _mapped_modules(files: Iterable[Path]) -> dict[str, Path]:
    """Return the locations of modules by the finders among `files`; a file may lack its suffix."""
    found: dict[str, Path] = {}
    for file in files:
        if file.suffix != ".py":
            continue
        if file.name.startswith(_FINDER):
            found |= _mapping(_parse(file))
        elif file.name.startswith(_REDIRECTOR):
            found |= _redirected(_parse(file))
    return found


def _project_of_links(place: Path) -> Path | None:
    """Return the project that a link tree belongs to, or None if the path is not in a link tree."""
    tree = next((folder for folder in place.parents if folder.name.startswith(_LINK_TREE)), None)
    return None if tree is None else tree.parent.parent


def _mapping(module: ast.Module) -> dict[str, Path]:
    """Return the dictionary in one of setuptools' finders."""
    found: dict[str, Path] = {}
    for statement in module.body:
        if isinstance(statement, ast.AnnAssign):
            targets, value = [statement.target], statement.value
        elif isinstance(statement, ast.Assign):
            targets, value = statement.targets, statement.value
        else:
            continue
        if value is not None and any(isinstance(to, ast.Name) and to.id == _MAPPING for to in targets):
            found |= _literal(value)
    return found


def _redirected(module: ast.Module) -> dict[str, Path]:
    """Return the arguments of all calls of `map_module`."""
    found: dict[str, Path] = {}
    for statement in module.body:
        match statement:
            case ast.Expr(
                ast.Call(
                    ast.Attribute(attr="map_module"),
                    [ast.Constant(str(name)), ast.Constant(str(place))],
                )
            ):
                path = Path(place)
                found[name] = path.parent if path.name == "__init__.py" else path
            case _:
                continue
    return found


def _imported_modules(place: Path, folder: Path) -> list[str]:
    """Return the top-level modules of `folder` that the module or package at `place` imports, sorted."""
    files = sorted(place.rglob("*.py")) if place.is_dir() else [place]
    names = {name for file in files for name in _imports_of(file)}
    names.discard(place.name.partition(".")[0])
    return sorted(name for name in names if (folder / name).is_dir() or (folder / f"{name}.py").is_file())


def _imports_of(file: Path) -> frozenset[str]:
    status = file.stat() if file.exists() else file.lstat()
    return _known_imports(file, status.st_mtime_ns, status.st_ctime_ns, status.st_size)


@lru_cache(maxsize=1 << 12)
def _known_imports(file: Path, *status: int) -> frozenset[str]:
    """Return the imports of a file; cached by its status, because a dashboard asks repeatedly."""
    del status
    return frozenset(_imports(file))


def _imports(file: Path) -> Iterator[str]:
    for node in ast.walk(_parse(file)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def _parse(file: Path) -> ast.Module:
    """Parse a source file; one with errors counts as empty, since it will fail when the bot starts."""
    try:
        if file.stat().st_size <= _MAX_SOURCE:
            with warnings.catch_warnings():
                # Warnings of the compiler concern only the author.
                warnings.simplefilter("ignore")
                return ast.parse(file.read_bytes())
    except _UNREADABLE:
        pass
    return ast.Module(body=[], type_ignores=[])


def _literal(value: ast.expr) -> dict[str, Path]:
    try:
        found: object = ast.literal_eval(value)
    except _UNREADABLE:
        return {}
    if not isinstance(found, dict):
        return {}
    pairs: dict[object, object] = dict(found)  # pyright: ignore[reportUnknownArgumentType]
    return {
        name: Path(path) for name, path in pairs.items() if isinstance(name, str) and isinstance(path, str)
    }

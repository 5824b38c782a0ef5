"""Interprets what editable installs leave behind, without executing it: path files, finders, link trees."""

from __future__ import annotations

import ast
import os
import warnings
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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


def linked_folders(files: Iterable[Path]) -> list[str]:
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
            if line and not line.startswith(("#", "import ", "import\t")):
                place = Path(os.path.abspath(file.parent / line))  # noqa: PTH100 - must keep links
                if place.is_dir():
                    found.append(str(place))
    return found


def is_made(name: str) -> bool:
    """Return whether the name of a file in site-packages is one that editable installs generate."""
    return name.endswith(".pth") or name.startswith(_MADE)


def mapped_modules(files: Iterable[Path]) -> dict[str, Path]:
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


def project_of_links(place: Path) -> Path | None:
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


def imported_modules(place: Path, folder: Path) -> list[str]:
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

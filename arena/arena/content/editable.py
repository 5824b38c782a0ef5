"""Reads what editable installs leave behind without running it: path files and setuptools' finders."""

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
"""How the name of setuptools' module begins that maps names of modules to places."""
_MAPPING = "MAPPING"
_MAX_SOURCE = 4 << 20
"""Bytes of a module that is looked through for imports."""
_UNREADABLE = (OSError, SyntaxError, ValueError, RecursionError, MemoryError)


def linked_folders(files: Iterable[Path]) -> list[str]:
    """Return the folders that `.pth` files among `files` add to `sys.path`; lines with code do not count."""
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
                place = Path(os.path.abspath(file.parent / line))  # noqa: PTH100 - a link stays one
                if place.is_dir():
                    found.append(str(place))
    return found


def mapped_modules(files: Iterable[Path]) -> dict[str, Path]:
    """Return where modules lie by setuptools' finders among `files`: a folder, or a file without suffix."""
    found: dict[str, Path] = {}
    for file in files:
        if not file.name.startswith(_FINDER) or file.suffix != ".py":
            continue
        for statement in _parse(file).body:
            if isinstance(statement, ast.AnnAssign):
                targets, value = [statement.target], statement.value
            elif isinstance(statement, ast.Assign):
                targets, value = statement.targets, statement.value
            else:
                continue
            if value is not None and any(isinstance(to, ast.Name) and to.id == _MAPPING for to in targets):
                found |= _literal(value)
    return found


def imported_modules(place: Path, folder: Path) -> list[str]:
    """Return the top-level modules of `folder` that the module or package at `place` imports."""
    files = sorted(place.rglob("*.py")) if place.is_dir() else [place]
    names = {name for file in files for name in _imports_of(file)}
    names.discard(place.name.partition(".")[0])
    return sorted(name for name in names if (folder / name).is_dir() or (folder / f"{name}.py").is_file())


def _imports_of(file: Path) -> frozenset[str]:
    status = file.lstat()
    return _known_imports(file, status.st_mtime_ns, status.st_ctime_ns, status.st_size)


@lru_cache(maxsize=1 << 12)
def _known_imports(file: Path, *status: int) -> frozenset[str]:
    """Return what a file of this status imports: a dashboard asks again and again."""
    del status
    return frozenset(_imports(file))


def _imports(file: Path) -> Iterator[str]:
    for node in ast.walk(_parse(file)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def _parse(file: Path) -> ast.Module:
    """Parse a source file; one that cannot be parsed counts as empty, and fails when the bot starts."""
    try:
        if file.stat().st_size <= _MAX_SOURCE:
            with warnings.catch_warnings():
                # What the compiler warns of is the author's affair.
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

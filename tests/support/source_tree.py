"""The repository's Python files and the imports of each, read without importing any."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

ROOT = Path(__file__).resolve().parents[2]
ROOMS = {
    "arena": ROOT / "arena" / "arena",
    "arena_plugins": ROOT / "plugins" / "arena_plugins",
    "arena_bots": ROOT / "bots" / "arena_bots",
    "arena_db": ROOT / "db" / "arena_db",
}
"""Package name to its folder."""


@dataclass(frozen=True)
class Import:
    """One name that a module imports, wherever in the file and under whatever condition."""

    module: str
    """The module or package named: `a.b` in `import a.b` and in `from a.b import c`."""
    name: str | None
    """`c` in `from a.b import c`; it may be a module."""
    line: int


@dataclass(frozen=True)
class Source:
    """One Python file."""

    path: Path
    module: str
    """Its dotted name; its path if the file belongs to no package."""
    tree: ast.Module

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Every node of the tree: a walk takes as long as parsing, and most questions need one."""
        return tuple(ast.walk(self.tree))

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        """All imports, also in functions and under `TYPE_CHECKING`; relative ones made absolute."""
        found: list[Import] = []
        for node in self.nodes:
            if isinstance(node, ast.Import):
                found += (Import(alias.name, None, node.lineno) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = self._absolute(node)
                found += (Import(base, alias.name, node.lineno) for alias in node.names)
        return tuple(found)

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = self.module.split(".")
        if self.path.name == "__init__.py":
            parts.append("")
        parents = parts[: len(parts) - node.level]
        return ".".join([*parents, node.module] if node.module else parents)


@cache
def read(path: Path, module: str) -> Source:
    """Read one file and parse it once; tests/house/conftest.py clears the cache after its last test."""
    return Source(path, module, ast.parse(path.read_text(encoding="utf-8"), str(path)))


def room_sources(rooms: Mapping[str, Path] | None = None) -> dict[str, Source]:
    """Return the modules of the packages by dotted name."""
    sources: dict[str, Source] = {}
    for package, folder in (rooms or ROOMS).items():
        for path in sorted(folder.rglob("*.py")):
            parts = [package, *path.relative_to(folder).with_suffix("").parts]
            module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            sources[module] = read(path, module)
    return sources


def all_sources() -> list[Source]:
    """Return every Python file of the project: packages, migrations, template, tests, benchmarks."""
    return [*room_sources().values(), *(read(path, path.relative_to(ROOT).as_posix()) for path in _others())]


def all_paths() -> list[Path]:
    """Return the paths of the same files, none of them parsed."""
    return [*(path for folder in ROOMS.values() for path in sorted(folder.rglob("*.py"))), *_others()]


def _others() -> Iterator[Path]:
    for folder in ("alembic", "plugins/template", "tests", "benchmarks"):
        yield from sorted((ROOT / folder).rglob("*.py"))


def import_graph(sources: Mapping[str, Source]) -> dict[str, set[str]]:
    """Return for each module the project's own modules that it imports.

    `from p import m` points to `p.m`, and also to `p`, because it asks `p` for a name; `import p.m` and `from
    p.m import x` point only to `p.m`.
    """
    graph: dict[str, set[str]] = {module: set() for module in sources}
    for module, source in sources.items():
        for found in source.imports:
            targets = {found.module, f"{found.module}.{found.name}"}
            graph[module] |= {target for target in targets if target in sources}
    return graph


def called_name(call: ast.Call) -> str:
    """Return the last part of a called name: `c` of `a.b.c()`; empty if the callee has no name."""
    return getattr(call.func, "attr", "") or getattr(call.func, "id", "")


def cycles(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Return every strongly connected component of several modules, and modules that import themselves."""
    reach = {start: _reachable(graph, start) for start in graph}
    found: dict[str, list[str]] = {}
    for start in sorted(graph):
        if start in reach[start]:
            members = sorted({start} | {other for other in reach[start] if start in reach[other]})
            found[members[0]] = members
    return list(found.values())


def _reachable(graph: Mapping[str, Iterable[str]], start: str) -> set[str]:
    seen: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        module = waiting.pop()
        if module not in seen:
            seen.add(module)
            waiting.extend(graph[module])
    return seen

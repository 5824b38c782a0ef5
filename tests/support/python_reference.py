"""Writes docs/reference/python.md from the docstrings of the public modules: run this file to update it."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING

from source_tree import ROOT, Source, room_sources

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

PAGE = ROOT / "docs" / "reference" / "python.md"
PUBLIC = (
    "arena_plugins",
    "arena_plugins.hostile",
    "arena.games",
    "arena.analysis",
    "arena.export",
    "arena_db.store",
    "arena_db.plan_keeping",
    "arena_db.match_keeping",
    "arena_db.plays",
    "arena_db.analyses",
    "arena_db.summed",
    "arena_db.replays",
    "arena_db.finding",
    "arena_db.changes",
    "arena_db.runs",
    "arena_db.tokens",
    "arena_db.transfers",
    "arena_db.freezing",
    "arena_db.checking",
    "arena_db.match_filter",
    "arena_db.owner",
    "arena_db.plan_records",
    "arena_db.judgements",
    "arena_db.records",
    "arena_db.run_records",
)
"""Public modules; a package's own modules are public with it, unless it names its exports in `__all__`."""
INTRODUCTION = """# Python

<!-- Written by `python tests/support/python_reference.py` from the docstrings; edit those. -->

The public names; everything else may change without notice.
"""

MAX_VALUE = 40
"""Maximum length of a constant's value that is shown."""


@dataclass(frozen=True)
class Definition:
    """The place where a name is defined."""

    node: ast.stmt
    siblings: Sequence[ast.stmt]
    """The statements around it: the docstring of a constant is the statement after it."""


def render() -> str:
    """Return the text of the page."""
    sources = room_sources()
    return INTRODUCTION + "".join(_module(sources, module) for module in public_modules(sources))


def public_modules(sources: Mapping[str, Source]) -> list[str]:
    """Return the public modules that exist, in the order of `PUBLIC`."""
    modules: list[str] = []
    for public in PUBLIC:
        closed = public in sources and exports(sources[public]) is not None
        inner = [] if closed else [name for name in sorted(sources) if name.startswith(f"{public}.")]
        shown = [name for name in inner if not any(part.startswith("_") for part in name.split("."))]
        modules += [*([public] if public in sources else []), *shown]
    return [module for module in modules if public_names(sources, module)]


def public_names(sources: Mapping[str, Source], module: str) -> dict[str, Definition]:
    """Return what `module` exports, with definitions: `__all__`, else classes and functions without `_`."""
    source = sources[module]
    named = exports(source)
    if named is not None:
        return {name: _resolve(sources, module, name) for name in named}
    nodes = [node for node in source.tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    return {node.name: Definition(node, source.tree.body) for node in nodes if not node.name.startswith("_")}


def exports(source: Source) -> list[str] | None:
    """Return the literal `__all__` of a module, or None if it has none."""
    for node in source.tree.body:
        if isinstance(node, ast.Assign) and _defined(node) == ["__all__"]:
            return [str(name) for name in ast.literal_eval(node.value)]
    return None


def _resolve(sources: Mapping[str, Source], module: str, name: str) -> Definition:
    source = sources[module]
    for node in source.tree.body:
        if name in _defined(node):
            return Definition(node, source.tree.body)
    for found in source.imports:
        if found.name == name and found.module in sources:
            return _resolve(sources, found.module, name)
    raise LookupError(f"{module} exports {name} but neither defines nor imports it")


def _defined(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else []
    targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _module(sources: Mapping[str, Source], module: str) -> str:
    parts = [f"\n## `{module}`\n\n{ast.get_docstring(sources[module].tree) or ''}\n"]
    for name, found in public_names(sources, module).items():
        parts.append(f"\n### `{name}{_signature(found.node)}`\n")
        parts.append(_text(_docstring(found)))
        if isinstance(found.node, ast.ClassDef):
            parts += _members(found.node)
    return "".join(parts)


def _members(node: ast.ClassDef) -> Iterator[str]:
    for member in node.body:
        for name in _defined(member):
            text = _docstring(Definition(member, node.body))
            if not name.startswith("_") and (text or not isinstance(member, ast.FunctionDef)):
                yield f"\n- `{name}{_signature(member)}`\n{_text(text, indent='  ')}"


def _signature(node: ast.stmt) -> str:
    if isinstance(node, ast.FunctionDef):
        if any(ast.unparse(decorator) == "property" for decorator in node.decorator_list):
            return f": {ast.unparse(node.returns)}" if node.returns else ""
        returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
        arguments = ast.unparse(node.args)
        for first in ("self", "cls"):
            arguments = arguments.removeprefix(f"{first}, ").removeprefix(first)
        return f"({arguments}){returns}"
    if isinstance(node, ast.ClassDef):
        bases = ", ".join(ast.unparse(base) for base in node.bases)
        return f"({bases})" if bases else ""
    kind = f": {ast.unparse(node.annotation)}" if isinstance(node, ast.AnnAssign) else ""
    value = ast.unparse(node.value) if isinstance(node, ast.Assign | ast.AnnAssign) and node.value else ""
    return f"{kind} = {value}" if value and len(value) <= MAX_VALUE else kind


def _docstring(found: Definition) -> str:
    if isinstance(found.node, ast.ClassDef | ast.FunctionDef):
        return ast.get_docstring(found.node) or ""
    position = found.siblings.index(found.node) + 1
    after = found.siblings[position] if position < len(found.siblings) else None
    if (
        isinstance(after, ast.Expr)
        and isinstance(after.value, ast.Constant)
        and isinstance(after.value.value, str)
    ):
        return inspect.cleandoc(after.value.value)
    return ""


def _text(docstring: str, indent: str = "") -> str:
    lines = [f"{indent}{line}".rstrip() for line in docstring.splitlines()]
    return "\n" + "\n".join(lines) + "\n" if lines else ""


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")

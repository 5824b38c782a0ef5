"""Functions that are not kernels take few arguments; the number of exceptions may only fall."""

from __future__ import annotations

import ast
import tomllib
from fnmatch import fnmatch
from typing import TYPE_CHECKING

import pytest

from source_tree import ROOT, all_sources, read

if TYPE_CHECKING:
    from pathlib import Path

    from source_tree import Source

LIMIT = 5
"""Maximum number of arguments without an exception: that of ruff's rule PLR0913."""
FEW = 6
"""Number of arguments that a function with an exception should not exceed."""
MOST_EXCEPTIONS = 15
"""Number of exceptions outside kernels; it may only fall."""
MOST_LARGE = 5
"""Number of these with more than `FEW` arguments; it may only fall."""
KERNELS = frozenset({"kernel", "inline_kernel"})
"""The decorators of `arena.games.kernels.compiling` that mark kernels."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def num_arguments(source: Source) -> dict[Function, int]:
    """Return the functions with more than `LIMIT` arguments, and how many; as in ruff without `self`."""
    methods = {
        each
        for owner in source.nodes
        if isinstance(owner, ast.ClassDef)
        for each in owner.body
        if isinstance(each, Function) and "staticmethod" not in map(ast.unparse, each.decorator_list)
    }
    found: dict[Function, int] = {}
    for node in source.nodes:
        if isinstance(node, Function):
            listed = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            num = len(listed) - (node in methods)
            if num > LIMIT:
                found[node] = num
    return found


def is_kernel(function: Function) -> bool:
    return not KERNELS.isdisjoint(map(ast.unparse, function.decorator_list))


def plain(source: Source) -> dict[str, int]:
    """Return the functions with more than `LIMIT` arguments that are not kernels."""
    return {each.name: num for each, num in num_arguments(source).items() if not is_kernel(each)}


def patterns() -> list[str]:
    """Return the patterns of the files in which ruff does not count arguments."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    ignored: dict[str, list[str]] = settings["tool"]["ruff"]["lint"]["per-file-ignores"]
    return [pattern for pattern, rules in ignored.items() if "PLR0913" in rules]


@pytest.mark.parametrize("pattern", patterns())
def test_only_kernels_take_many_arguments_where_ruff_does_not_count(pattern: str) -> None:
    files = [each for each in all_sources() if fnmatch(each.path.relative_to(ROOT).as_posix(), pattern)]
    assert {str(each.path): found for each in files if (found := plain(each))} == {}
    assert any(map(num_arguments, files)), "no kernel needs this exception any more; remove it"


def test_few_functions_take_many_arguments() -> None:
    found = {f"{each.path}: {name}": num for each in all_sources() for name, num in plain(each).items()}
    why = "make what the arguments describe an object of its own, or split the function"
    assert len(found) <= MOST_EXCEPTIONS, f"{why}: {found}"
    assert sum(num > FEW for num in found.values()) <= MOST_LARGE, f"{why}: {found}"


CODE = """
@kernel
def kernel(a, b, c, d, e, f): ...
def six(a, b, /, c, d, *, e, f=1, **rest): ...
def five(a, b, c, d, e, *rest): ...
class Owner:
    def five(self, a, b, c, d, e): ...
    def six(self, a, b, c, d, e, f): ...
    @staticmethod
    def static(a, b, c, d, e, f): ...
"""


def test_arguments_are_counted_as_ruff_counts_them(tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text(CODE)
    source = read(tmp_path / "code.py", "code")
    found = [(each.name, num) for each, num in num_arguments(source).items()]
    assert sorted(found) == [("kernel", 6), ("six", 6), ("six", 6), ("static", 6)]
    assert sorted(plain(source)) == ["six", "static"]

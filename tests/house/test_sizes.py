"""No file is longer than 400 lines and no function longer than 60, because a longer one does two jobs."""

from __future__ import annotations

import ast

from source_tree import all_paths, all_sources

MAX_FILE = 400
MAX_FUNCTION = 60


def test_files_are_short() -> None:
    long = {
        str(path): lines
        for path in all_paths()
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > MAX_FILE
    }
    assert long == {}


def test_functions_are_short() -> None:
    long = {
        f"{source.path}:{node.lineno} {node.name}": lines
        for source in all_sources()
        for node in source.nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > MAX_FUNCTION
    }
    assert long == {}

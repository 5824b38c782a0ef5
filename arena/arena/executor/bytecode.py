"""Compiles the bytecode that the processes of bots need and cannot write themselves."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from functools import cache
from importlib.util import cache_from_source, find_spec
from pathlib import Path
from typing import Final

from arena.own_python import own_python

MODULES: Final = ("arena_plugins.host", "arena.games.kernels.playouts", "numba", "onnxruntime")
"""Modules that import what most bots import from the environment of the arena."""
_IMPORT = """
import contextlib, importlib, sys
for module in sys.argv[1:]:
    # The others are compiled even if one is broken: otherwise each run would try again.
    with contextlib.suppress(Exception, SystemExit):
        importlib.import_module(module)
"""
_MOST_S = 120.0
"""Timeout of the imports in seconds; without bytecode they take two."""


@cache
def write_bytecode() -> None:
    """Import `MODULES` in a process of their own, so that Python writes their bytecode if they have none.

    pip compiles what it installs, but uv and editable installs do not, and the processes of bots must not
    write. Without bytecode, each start of a bot with compiled search took 1.5 instead of 0.3 s of CPU. No
    code or content of a bot is read, and only the environment is written to. Later calls in a process do
    nothing.
    """
    # With a prefix, Python writes to a folder in which the processes of bots do not look.
    if sys.dont_write_bytecode or sys.pycache_prefix or not any(map(_lacks_bytecode, MODULES)):
        return
    # If this fails, bots start without bytecode, which only takes longer.
    with suppress(OSError, subprocess.SubprocessError):
        subprocess.run(  # noqa: S603 - our own interpreter
            own_python("-c", _IMPORT, *MODULES),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_MOST_S,
            check=False,
        )


def _lacks_bytecode(module: str) -> bool:
    """Return whether Python would write bytecode for a module when it is imported."""
    package, *inner = module.split(".")
    # Only the package is looked up: for an inner module that would import the package.
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return False
    first = Path(spec.origin)
    source = first.parent.joinpath(*inner).with_suffix(".py") if inner else first
    folder = Path(cache_from_source(source)).parent
    if Path(cache_from_source(source)).exists():
        return False
    return os.access(folder if folder.exists() else source.parent, os.W_OK)

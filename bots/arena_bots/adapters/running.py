"""Runs the file of a bot as a module, and says why one cannot be run."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def run_file(path: Path, name: str) -> ModuleType:
    """Run a file as the module `name` and return the module; whatever the file raises passes through.

    The module is in `sys.modules` while it runs and afterwards: dataclasses and pickle look for it there.
    """
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)  # noqa: S102 - running the file is the job
    return module


def failure(path: Path, error: BaseException) -> str:
    """Return in a few words why a file cannot be run, given what `run_file` raised.

    Its line is not part of them, but for what is no Python at all: whoever shows the words reads it from the
    traceback, as for everything else that a bot raises.
    """
    kind = type(error).__name__
    if not isinstance(error, SyntaxError):
        text = str(error)
        return f"{path.name} fails: {kind}: {text}" if text else f"{path.name} fails: {kind}"
    # A null byte has no place, and a helper's error has that of the helper.
    if error.filename not in {None, str(path)}:
        return f"{path.name} fails: {kind}: {error.msg}"
    line = f" (line {error.lineno})" if error.lineno else ""
    return f"{path.name} is no Python: {error.msg}{line}"

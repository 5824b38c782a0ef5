"""Executes the file of a bot as a module, and describes why a file cannot be executed."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def run_file(path: Path, name: str) -> ModuleType:
    """Execute a file as the module `name` and return the module; exceptions of the file propagate.

    The module is in `sys.modules` during and after execution, because dataclasses and pickle look it up
    there.
    """
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)  # noqa: S102 - executes the bot's own file
    return module


def failure(path: Path, error: BaseException) -> str:
    """Describe briefly why a file cannot be executed, given the exception that `run_file` raised.

    The line number is included only for syntax errors: for other exceptions viewers read it from the
    traceback, as for every exception of a bot.
    """
    kind = type(error).__name__
    if not isinstance(error, SyntaxError):
        text = str(error)
        return f"{path.name} fails: {kind}: {text}" if text else f"{path.name} fails: {kind}"
    # A NUL byte has no line, and an error in a helper has a line of the helper.
    if error.filename not in {None, str(path)}:
        return f"{path.name} fails: {kind}: {error.msg}"
    line = f" (line {error.lineno})" if error.lineno else ""
    return f"{path.name} is not valid Python: {error.msg}{line}"

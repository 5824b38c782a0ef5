"""Asks the runtimes of this machine (node, java, an interpreter) for their versions, in the sandbox."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from arena.errors import ConfigError
from arena.executor.sandboxed import run_sandboxed
from arena.sandbox.readable import Readable
from arena_plugins.text import clean_text

_SECONDS = 5.0
"""Seconds after which a runtime that has not printed its version is killed."""
_VERSION = re.compile(rb"\d{1,9}(\.\d{1,9}){1,3}")
_MAX_NAME = 64


def runtime_name(program: str) -> str:
    """Return the name of a runtime's file without its version: `python` for `python3.11`."""
    name = clean_text(Path(program).name, _MAX_NAME)
    return re.sub(r"[-0-9.]+\Z", "", name) or name


def describe_runtime(program: str) -> str:
    """Return the name and the version of a runtime, such as `node 20.20.2`.

    The program runs in the sandbox, once per process until its file changes. If it does not start, or prints
    no version, only its name is returned.

    Args:
        program: its absolute path.
    """
    modified_ns = 0
    with suppress(OSError):
        modified_ns = Path(program).stat().st_mtime_ns
    return " ".join(filter(None, (runtime_name(program), _version(program, modified_ns))))


@lru_cache(maxsize=64)
def _version(program: str, _modified_ns: int) -> str:
    # Java before version 9 accepts only -version, which all later versions accept, too.
    flag = "-version" if runtime_name(program) == "java" else "--version"
    readable = Readable(()).with_runtime(program)
    try:
        done = run_sandboxed([os.path.abspath(program), flag], readable, _SECONDS)  # noqa: PTH100 - a link stays one
    except (ConfigError, OSError):
        return ""
    found = _VERSION.search(done.stdout + b"\n" + done.stderr) if done.code == 0 else None
    return found[0].decode() if found else ""

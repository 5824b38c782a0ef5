"""Starts our own Python: the one place that does, so that no file of the current folder is run by mistake."""

from __future__ import annotations

import os
import site
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator

_SAFE = "PYTHONSAFEPATH"


def interpreter() -> str:
    """Return the path of the Python that runs this, for commands of others and for messages."""
    return sys.executable


def own_python(*arguments: str) -> list[str]:
    """Return the command that runs this Python with these arguments.

    `-P` always comes first: without it a file `random.py` or `arena.py` in the current folder would be
    imported in the place of the module of that name. `-s` keeps packages of the user's own folder out, unless
    this process has them itself: bots that are installed there are bots for both.
    """
    own = [] if site.getusersitepackages() in sys.path else ["-s"]
    return [interpreter(), "-P", *own, *arguments]


@contextmanager
def safe_path() -> Generator[None]:
    """Start every Python in a `with` block as `own_python` does, those of `multiprocessing` too.

    `multiprocessing` passes `-P` on only where this process has it itself, and a console script has not.
    """
    before = os.environ.get(_SAFE)
    os.environ[_SAFE] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_SAFE]
        else:
            os.environ[_SAFE] = before

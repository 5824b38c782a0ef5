"""The only place that starts this Python again, so that no file of the current folder is run by mistake."""

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
    """Return the path of the Python interpreter that runs this process."""
    return sys.executable


def own_python(*arguments: str) -> list[str]:
    """Return the command that runs this Python with these arguments.

    `-P` always comes first: without it, a file `random.py` or `arena.py` in the current folder would be
    imported in place of the module of that name. `-s` excludes the user's site-packages, unless this process
    uses them: bots that are installed there must be visible to both.
    """
    own = [] if site.getusersitepackages() in sys.path else ["-s"]
    return [interpreter(), "-P", *own, *arguments]


@contextmanager
def safe_path() -> Generator[None]:
    """Make all Python processes started in a `with` block safe, those of `multiprocessing` included.

    `multiprocessing` passes `-P` on only if this process was started with it, and a console script is not.
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

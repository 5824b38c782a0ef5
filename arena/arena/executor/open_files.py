"""Raises the limit of open files of a process that serves many connections."""

from __future__ import annotations

import sys
from contextlib import suppress


def allow_files(num: int) -> None:
    """Raise the soft limit of open files to at least `num`, as far as the hard limit permits.

    The usual soft limit of 1,024 is used up by 1,000 viewers or by 300 slots. Windows has no such limit.
    """
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = num if hard == resource.RLIM_INFINITY else min(num, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))

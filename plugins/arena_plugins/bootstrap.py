"""The script that a host process runs: it secures the protocol's descriptors, sets `sys.path`, then serves.

The interpreter starts with `-S`, so only the standard library can be imported until `sys.path` is set.
"""

from __future__ import annotations

import io
import json
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def take_descriptors() -> tuple[int, int]:
    """Move the protocol to private, non-inheritable descriptors and return them as (reader, writer).

    Afterwards 0 is the null device and 1 is stderr, so neither `print` nor C code can touch the protocol.
    """
    reader, writer = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return reader, writer


def extended(path: Sequence[str], more: Sequence[str]) -> list[str]:
    """Return `path` followed by the entries of `more` that it lacks.

    `site.addsitedir` is avoided because it executes code in `.pth` files.
    """
    return list(dict.fromkeys([*path, *more]))


def main() -> None:
    """Serve until the arena quits; a SystemExit raised by the bot ends the process with its code."""
    reader, writer = take_descriptors()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Line buffering keeps what a bot printed before it was killed; its author needs that output.
            stream.reconfigure(line_buffering=True)
    sys.path[:] = extended(sys.path, json.loads(sys.argv[1])["path"])
    from arena_plugins.host import serve

    code = serve(sys.argv[1], reader, writer)
    sys.stderr.flush()
    # `os._exit` ends the process even if the bot left threads or exit handlers behind.
    os._exit(code)


if __name__ == "__main__":
    main()

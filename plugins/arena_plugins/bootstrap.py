"""The script a host process runs: secures the protocol's descriptors, sets `sys.path`, then serves.

It runs under `-S`, where only the standard library can be imported at first.
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
    """Move the protocol to private, non-inheritable descriptors and give them (to read, to write).

    Afterwards 0 is the null device and 1 is stderr, so neither `print` nor C code can touch the protocol.
    """
    reader, writer = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return reader, writer


def extended(path: Sequence[str], more: Sequence[str]) -> list[str]:
    """Give `path` with the entries of `more` it lacks; never `site.addsitedir`, which runs `.pth` code."""
    return list(dict.fromkeys([*path, *more]))


def main() -> None:
    """Serve until the arena quits; a bot's SystemExit ends the process with its own code."""
    reader, writer = take_descriptors()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # What a bot printed before it was killed is what its author wants to see.
            stream.reconfigure(line_buffering=True)
    sys.path[:] = extended(sys.path, json.loads(sys.argv[1])["path"])
    from arena_plugins.host import serve

    code = serve(sys.argv[1], reader, writer)
    sys.stderr.flush()
    # Threads and exit handlers a bot left behind must not keep the process alive.
    os._exit(code)


if __name__ == "__main__":
    main()

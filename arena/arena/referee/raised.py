"""Finds Python tracebacks in a bot's stderr: which exception ended it, and where."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

import arena
import arena_plugins

_HEAD: Final = "Traceback (most recent call last):"
_CHAINED: Final = (
    "The above exception was the direct cause of the following exception:",
    "During handling of the above exception, another exception occurred:",
)
_FRAME: Final = re.compile(r'\s+File "(.+)", line (\d+)')
_LIBRARY: Final = re.compile(r"/(?:site|dist)-packages/|/lib/python3[.\d]*/|^<")
"""Paths of library code. The line of the bot that called a library is more useful to its author."""
_OURS: Final = tuple(f"{Path(package.__path__[0])}/" for package in (arena, arena_plugins))
"""The folders of the arena and of the contract, which have the same paths in a bot's process."""


class Raised(NamedTuple):
    """The exception at the end of a traceback."""

    error: str
    """The last line of the traceback, such as `KeyError: 'd'`."""
    place: str
    """File and line of the bot's innermost frame, `bot.py:41`; empty if every frame is the arena's."""


def last_raised(stderr: str) -> Raised | None:
    """Return the last exception whose traceback appears in a text, or None.

    A bot may print a fake traceback, but that misleads only its own author.
    """
    own: list[str] = []
    others: list[str] = []
    error = ""
    is_inside = is_chained = False
    for line in stderr.splitlines():
        frame = _FRAME.match(line)
        if line == _HEAD:
            if not is_chained:
                own, others = [], []
            is_inside, is_chained = True, False
        elif line in _CHAINED:
            is_chained = True
        elif is_inside and frame is not None:
            path, number = frame.groups()
            name = re.split(r"[\\/]", path)[-1]
            if not path.startswith(_OURS):
                (others if _LIBRARY.search(path) else own).append(f"{name}:{number}")
        elif is_inside and line and not line[0].isspace():
            error, is_inside = line, False
    return Raised(error, (own or others or [""])[-1]) if error else None

"""Reads Python tracebacks in what a bot wrote to stderr: which exception ended it, and where."""

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
"""Where code lies that is no bot's own. The line of the bot that called it tells its author more."""
_OURS: Final = tuple(f"{Path(package.__path__[0])}/" for package in (arena, arena_plugins))
"""The folders of the arena and of the contract; a bot finds them at the same places."""


class Raised(NamedTuple):
    """The exception at the end of a traceback."""

    error: str
    """Its last line, `KeyError: 'd'`."""
    place: str
    """File and line of the bot's innermost frame, `bot.py:41`; empty if all frames are the arena's."""


def last_raised(stderr: str) -> Raised | None:
    """Return the last exception whose traceback a text contains; None if there is none.

    A bot may print a false traceback. Then it misleads its own author, and nobody else.
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

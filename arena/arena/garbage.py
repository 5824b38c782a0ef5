"""How often this process looks for garbage: rarely at first, as usual once it runs plugins or a screen."""

from __future__ import annotations

import gc
from typing import Final

_USUAL: Final = gc.get_threshold()
"""The thresholds with which this process began."""
_RARE: Final = (50_000, *_USUAL[1:])
"""Imports create hundreds of thousands of objects and hardly any garbage: looking through them every 700
objects took an eighth of a short command."""


def collect_rarely() -> None:
    """Look for garbage rarely; for processes that load much and make little garbage."""
    gc.set_threshold(*_RARE)


def leave_garbage() -> None:
    """Have the interpreter end without a last look for garbage, through all that was imported.

    That look is an eighth of a short command and a fifth of the CPU that a worker needs besides its matches.
    Nothing waits for that: whatever must be closed is closed by the code that opened it.
    """
    gc.freeze()


def collect_as_usual() -> None:
    """Look for garbage as often as Python does: a bot or trainer was loaded into this process, or a screen.

    A few objects of a bot may hold large arrays: a search whose nodes know their parents is freed by the
    collector alone. A dashboard lives for hours. Thresholds that somebody else has set stay as they are.
    """
    if gc.get_threshold() == _RARE:
        gc.set_threshold(*_USUAL)

"""How often garbage is collected: rarely at first, at Python's default rate once plugins or a screen run."""

from __future__ import annotations

import gc
from typing import Final

_USUAL: Final = gc.get_threshold()
"""The thresholds with which this process began."""
_RARE: Final = (50_000, *_USUAL[1:])
"""Thresholds while modules are imported, which creates hundreds of thousands of objects and hardly any
garbage: a collection every 700 objects took an eighth of the time of a short command."""


def collect_rarely() -> None:
    """Collect garbage rarely; for processes that import many modules and make little garbage."""
    gc.set_threshold(*_RARE)


def leave_garbage() -> None:
    """Make the interpreter exit without a final garbage collection, which would scan all imported objects.

    The final collection takes an eighth of the time of a short command, and a fifth of the CPU that a worker
    needs besides its matches. Nothing depends on it: files and connections are closed by the code that opened
    them.
    """
    gc.freeze()


def collect_as_usual() -> None:
    """Collect garbage at Python's default rate; for processes that load a bot, a trainer or a screen.

    A few objects of a bot may hold large arrays: a search tree whose nodes refer to their parents is freed
    only by the collector. A dashboard runs for hours. Thresholds set by other code are not changed.
    """
    if gc.get_threshold() == _RARE:
        gc.set_threshold(*_USUAL)

"""Ends a process when its parent ends."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_PR_SET_PDEATHSIG = 1
"""Number of the option in `linux/prctl.h`."""
_LOOK_S = 1.0
"""Seconds between two checks where the kernel sends no death signal; no orphan lives longer than this."""


def end_with_parent(parent: int, wait: Callable[[], None] | None = None) -> None:
    """Arrange that this process ends when its parent ends or is killed; end now if that already happened.

    On Linux it ends as soon as the thread that started it ends.

    Args:
        parent: process id of the parent.
        wait: blocks until the parent ends, for systems whose kernel sends no signal then; None polls once a
            second.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    else:
        threading.Thread(target=_end_after, args=(wait or (lambda: _look(parent)),), daemon=True).start()
    # The parent may have ended before the signal was requested; then the kernel never sends it.
    if os.getppid() != parent:
        os._exit(1)


def _end_after(wait: Callable[[], None]) -> None:
    wait()
    os._exit(1)


def _look(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK_S)

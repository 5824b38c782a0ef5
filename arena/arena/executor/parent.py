"""Ends a process with the one that started it."""

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
_LOOK_S = 1.0


def end_with_parent(parent: int, wait: Callable[[], None] | None = None) -> None:
    """End this process when its parent ends, even if that is killed. If that has ended before, end now.

    On Linux this is the end of the thread that started this process.

    Args:
        parent: the process id of the parent.
        wait: waits for the end of the parent where the kernel does not tell; None looks once a second.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    else:
        threading.Thread(target=_end_after, args=(wait or (lambda: _look(parent)),), daemon=True).start()
    if os.getppid() != parent:
        os._exit(1)


def _end_after(wait: Callable[[], None]) -> None:
    wait()
    os._exit(1)


def _look(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK_S)

"""Attacks that try to continue after the arena, or the bot, has ended."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING

from arena.sandbox.attacks.syscalls import syscall

if TYPE_CHECKING:
    from arena.sandbox.attacks.targets import Targets

_PR_SET_PDEATHSIG = 1
_LIFE_S = 30.0


def attack_outlive(_: Targets) -> object:
    """Cancel the parent death signal, and continue after standard input has ended."""
    threading.Thread(target=time.sleep, args=(_LIFE_S,)).start()
    syscall("prctl", _PR_SET_PDEATHSIG, 0, 0, 0, 0)
    return None


def attack_daemon(_: Targets) -> object:
    """Leave a daemon behind: a process outside the bot's process group, with no living parent."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return None
    os.setsid()
    if os.fork():
        os._exit(0)
    for descriptor in range(3):
        os.close(descriptor)
    time.sleep(_LIFE_S)
    os._exit(0)

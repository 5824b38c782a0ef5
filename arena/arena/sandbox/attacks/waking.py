"""Attacks on the pause during the opponent's turn: a stopped bot gets itself resumed."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from arena.sandbox.attacks.syscalls import syscall

if TYPE_CHECKING:
    from arena.sandbox.attacks.targets import Targets

_NUM_THREADS = 20
_SWITCH_S = 0.0001
BEGIN_S = 0.02
"""Seconds until the threads begin, so that the report is printed first."""
_NUM_TIMERS = 10
_DELAY_NS = 40_000_000
_CLOCK_MONOTONIC = 1
_SIGNAL_BYTES = 64
"""Size of `struct sigevent`."""
_F_SETFL, _F_SETOWN, _F_SETSIG = 4, 8, 10


def attack_wake(_: Targets) -> object:
    """Arm every means of sending SIGCONT and keep thinking; one failing does not prevent the others."""
    for arm in (_arm_timers, _arm_descriptor):
        with suppress(OSError):
            arm()
    # With the default interval, each thread would run for 5 ms before the next one could begin.
    sys.setswitchinterval(_SWITCH_S)
    for _number in range(_NUM_THREADS):
        with suppress(RuntimeError):
            threading.Thread(target=_continue_always, daemon=True).start()
    return None


def _arm_timers() -> None:
    """Arm timers that send SIGCONT one after another, because the start of the pause is unknown.

    One periodic timer would not suffice: the kernel holds it back until its previous signal is delivered.
    """
    for number in range(1, _NUM_TIMERS + 1):
        event = (ctypes.c_int * (_SIGNAL_BYTES // 4))()
        event[2] = signal.SIGCONT  # sigev_signo, after the eight bytes of sigev_value
        timer = ctypes.c_int()
        syscall("timer_create", _CLOCK_MONOTONIC, ctypes.byref(event), ctypes.byref(timer))
        once = (ctypes.c_long * 4)(0, 0, 0, number * _DELAY_NS)
        syscall("timer_settime", timer.value, 0, ctypes.byref(once), None)


def _arm_descriptor() -> None:
    """Request SIGCONT for the moment when standard input becomes readable."""
    import fcntl  # missing on some systems on which this module is imported

    fcntl.fcntl(0, _F_SETOWN, os.getpid())
    fcntl.fcntl(0, _F_SETSIG, signal.SIGCONT)
    fcntl.fcntl(0, _F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_ASYNC)


def _continue_always() -> None:
    time.sleep(BEGIN_S)
    while True:
        with suppress(OSError):
            os.kill(os.getpid(), signal.SIGCONT)

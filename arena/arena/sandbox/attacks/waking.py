"""Attacks on the pause while the opponent thinks: a bot that was stopped lets itself be resumed."""

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
"""When the threads begin, so that the report comes first."""
_NUM_TIMERS = 10
_DELAY_NS = 40_000_000
_CLOCK_MONOTONIC = 1
_SIGNAL_BYTES = 64
"""The size of `struct sigevent`."""
_F_SETFL, _F_SETOWN, _F_SETSIG = 4, 8, 10


def attack_wake(_: Targets) -> object:
    """Arm everything that sends SIGCONT and go on thinking, each means whether the others succeed or not."""
    for arm in (_arm_timers, _arm_descriptor):
        with suppress(OSError):
            arm()
    # Else each thread would think for 5 ms before the next may begin.
    sys.setswitchinterval(_SWITCH_S)
    for _number in range(_NUM_THREADS):
        with suppress(RuntimeError):
            threading.Thread(target=_continue_always, daemon=True).start()
    return None


def _arm_timers() -> None:
    """Have SIGCONT sent by timers that end one after the other, since nobody knows when the pause begins.

    One periodic timer would not do: it is held back while its last signal is not delivered.
    """
    for number in range(1, _NUM_TIMERS + 1):
        event = (ctypes.c_int * (_SIGNAL_BYTES // 4))()
        event[2] = signal.SIGCONT  # after the eight bytes of sigev_value
        timer = ctypes.c_int()
        syscall("timer_create", _CLOCK_MONOTONIC, ctypes.byref(event), ctypes.byref(timer))
        once = (ctypes.c_long * 4)(0, 0, 0, number * _DELAY_NS)
        syscall("timer_settime", timer.value, 0, ctypes.byref(once), None)


def _arm_descriptor() -> None:
    """Have SIGCONT sent when something can be read from standard input."""
    import fcntl  # not on every system this module is imported on

    fcntl.fcntl(0, _F_SETOWN, os.getpid())
    fcntl.fcntl(0, _F_SETSIG, signal.SIGCONT)
    fcntl.fcntl(0, _F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_ASYNC)


def _continue_always() -> None:
    time.sleep(BEGIN_S)
    while True:
        with suppress(OSError):
            os.kill(os.getpid(), signal.SIGCONT)

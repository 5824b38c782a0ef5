"""Bots that take too long, or just not too long."""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import signal
import struct
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from arena_plugins.hostile.talk import (
    FOREVER_S,
    Message,
    act,
    answer_with,
    forever,
    line_for,
    raw,
    remark,
    send,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_PIECE_S = 0.05
_WAKE_S = 0.01
_CROWD = 120
"""Threads; a bot may have 128."""
_EARLY_S = 0.06
"""So long before its deadline they start."""
_ROUNDS = 100_000
"""About 50 ms of CPU."""
_BURSTERS, _PERIOD_S, _BURST_ROUNDS = 60, 0.01, 80
"""Threads that all compute for a moment at the same time, how often, and how long: half of a core."""
_MEEKEST = 19


def _answer_at(offset_ms: float) -> Callable[[Message], None]:
    """Give a behaviour that answers so long after its limit; the margin is taken to be 50 ms."""

    def wait(go: Message) -> None:
        time.sleep((go["clock"]["you_ms"] + offset_ms) / 1000)
        act(go)

    return wait


def _late_illegal(go: Message) -> None:
    time.sleep((go["clock"]["you_ms"] + 10) / 1000)
    act(go, 99_999)


def _busy(_: Message) -> None:
    while True:
        pass


def _regex(_: Message) -> None:
    re.match(r"(a+)+$", "a" * 60 + "b")


def _drip(go: Message) -> None:
    for byte in line_for(go, "0") + b" " * 600:
        raw(bytes([byte]))
        time.sleep(_PIECE_S)


def _drip_lines(go: Message) -> None:
    while True:
        remark(go, "soon")
        time.sleep(_PIECE_S)


def _crowd(go: Message) -> None:
    """Answer too late, and keep the referee from its processor meanwhile, so that it may blame itself."""
    time.sleep(go["clock"]["you_ms"] / 1000 - _EARLY_S)

    def compute() -> None:
        # Lets go of the interpreter's lock, so that all of them run.
        hashlib.pbkdf2_hmac("sha256", b"", b"", _ROUNDS)

    for _ in range(_CROWD):
        threading.Thread(target=compute, daemon=True).start()
    time.sleep(FOREVER_S)


def _crowd_in_bursts(_go: Message) -> None:
    """Never answer, and look starved: many threads wait for each other while half of a core is idle."""

    def compute() -> None:
        while True:
            time.sleep(_PERIOD_S - time.monotonic() % _PERIOD_S)
            hashlib.pbkdf2_hmac("sha256", b"", b"", _BURST_ROUNDS)

    for _ in range(_BURSTERS):
        threading.Thread(target=compute, daemon=True).start()
    time.sleep(FOREVER_S)


def _meek(go: Message) -> None:
    """Never answer, and look starved: whatever else there is to do on the machine goes first."""
    os.nice(_MEEKEST)
    with suppress(AttributeError, OSError):  # other systems have no such policy, and the sandbox refuses it
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    _busy(go)


def _stop_itself(_: Message) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(FOREVER_S)


def _ignore_sigterm(go: Message) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _busy(go)


def _ponder(go: Message) -> None:
    if threading.active_count() == 1:
        threading.Thread(target=_busy, args=(go,), daemon=True).start()
    act(go)


def _wake_by_timer(go: Message) -> None:
    """Ponder: a timer of the system sends SIGCONT while the arena has this process stopped."""
    create = getattr(ctypes.CDLL(None), "timer_create", None)
    timer = ctypes.c_void_p()
    # struct sigevent: value, SIGCONT, SIGEV_SIGNAL, and room for the rest.
    event = struct.pack("=Qii48x", 0, signal.SIGCONT, 0)
    if create is not None and create(time.CLOCK_MONOTONIC, event, ctypes.byref(timer)) == 0:
        # A timer that repeats itself is of no use: the system sends its signal no second time.
        once = struct.pack("=qqqq", 0, 0, 0, int(_WAKE_S * 1e9))
        ctypes.CDLL(None).timer_settime(timer, 0, once, None)
    _ponder(go)


def _slow(go: Message) -> None:
    time.sleep(_PIECE_S)
    act(go)


def _info_then_sleep(go: Message) -> None:
    send({"type": "info", "id": go["id"], "depth": 1})
    time.sleep(FOREVER_S)


BEHAVIOURS: dict[str, Callable[[Message], None]] = {
    "late": _answer_at(50 + 100),
    "just-in-time": _answer_at(-5 - 5),
    "within-margin": _answer_at(25),
    "late-illegal": _late_illegal,
    "sleep": forever,
    "busy": _busy,
    "regex": _regex,
    "big-power": lambda _: answer_with(str(7**100_000_000))({}),
    "drip": _drip,
    "drip-lines": _drip_lines,
    "crowd": _crowd,
    "crowd-in-bursts": _crowd_in_bursts,
    "meek": _meek,
    "stop-itself": _stop_itself,
    "ignore-sigterm": _ignore_sigterm,
    "ponder": _ponder,
    "ponder-by-timer": _wake_by_timer,
    "slow": _slow,
    "info-then-sleep": _info_then_sleep,
}

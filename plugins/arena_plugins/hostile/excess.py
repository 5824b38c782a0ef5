"""Bots that exceed their time or memory, write without end, or die."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import re
import signal
import struct
import sys
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
    write,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_PIECE = 1 << 20
_TOO_MUCH = 1 << 40
_LEAK_S = 0.005


def _touch(_: Message) -> None:
    hoard: list[bytearray] = []
    while True:
        hoard.append(bytearray(b"x" * _PIECE))


def _reserve(go: Message) -> None:
    """Report exhausted memory the way a host reports it for its bot."""
    try:
        bytearray(_TOO_MUCH)
    except MemoryError:
        send({"type": "error", "id": go["id"], "code": "oom", "message": "out of memory"})


def _leak(_: Message) -> None:
    hoard: list[bytearray] = []
    while True:
        hoard.append(bytearray(b"x" * (4 * _PIECE)))
        time.sleep(_LEAK_S)


_STDERR_BYTES = 1 << 30


def _endless(piece: bytes) -> Callable[[Message], None]:
    def flood(_: Message) -> None:
        while True:
            raw(piece)

    return flood


def _info_flood(go: Message) -> None:
    piece = json.dumps({"type": "info", "id": go["id"], "text": "x" * 100}).encode() + b"\n"
    _endless(piece * 100)(go)


def _stderr_flood(go: Message) -> None:
    piece = b"e" * (1 << 16)
    for _ in range(_STDERR_BYTES // len(piece)):
        os.write(2, piece)
    act(go)


def _close_stdout(_: Message) -> None:
    os.close(1)
    time.sleep(FOREVER_S)


def _close_stdin(go: Message) -> None:
    os.close(0)
    act(go)
    time.sleep(FOREVER_S)


def _kill_itself(name: str) -> Callable[[Message], None]:
    def die(_: Message) -> None:
        # Looked up by name, because not every system has every signal.
        os.kill(os.getpid(), getattr(signal, name))
        time.sleep(FOREVER_S)

    return die


def _raise(_: Message) -> None:
    raise RuntimeError("nobody catches this")


def _exception(go: Message) -> None:
    """Report an exception the way a host reports an exception of its bot."""
    send(
        {"type": "error", "id": go["id"], "code": "bot_error", "message": "RuntimeError: caught by the host"}
    )


def _system_exit(_: Message) -> None:
    raise SystemExit(5)


def _die_after_answer(go: Message) -> None:
    act(go)
    os._exit(4)


def _orphan(_: Message) -> None:
    if os.fork() == 0:
        time.sleep(FOREVER_S)
    os._exit(5)


def _orphan_after_answer(go: Message) -> None:
    act(go)
    _orphan(go)


_PIECE_S = 0.05
_WAKE_S = 0.01
_CROWD = 120
"""Number of threads; a bot may have 128."""
_EARLY_S = 0.06
"""Seconds before its deadline at which the threads start."""
_ROUNDS = 100_000
"""PBKDF2 rounds that take about 50 ms of CPU time."""
_BURSTERS, _PERIOD_S, _BURST_ROUNDS = 60, 0.01, 80
"""Threads that compute in short simultaneous bursts, the period of a burst in seconds, and the PBKDF2 rounds
of a burst; together they use half of a core."""
_MEEKEST = 19


def _answer_at(offset_ms: float) -> Callable[[Message], None]:
    """Return a behaviour that answers `offset_ms` after its limit; the margin is assumed to be 50 ms."""

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
    """Answer too late while starving the referee of CPU time, to make it blame itself for the delay."""
    time.sleep(go["clock"]["you_ms"] / 1000 - _EARLY_S)

    def compute() -> None:
        # PBKDF2 releases the interpreter lock, so all threads run in parallel.
        hashlib.pbkdf2_hmac("sha256", b"", b"", _ROUNDS)

    for _ in range(_CROWD):
        threading.Thread(target=compute, daemon=True).start()
    time.sleep(FOREVER_S)


def _crowd_in_bursts(_go: Message) -> None:
    """Never answer, and look starved: many threads wait for each other while half a core is idle."""

    def compute() -> None:
        while True:
            time.sleep(_PERIOD_S - time.monotonic() % _PERIOD_S)
            hashlib.pbkdf2_hmac("sha256", b"", b"", _BURST_ROUNDS)

    for _ in range(_BURSTERS):
        threading.Thread(target=compute, daemon=True).start()
    time.sleep(FOREVER_S)


def _meek(go: Message) -> None:
    """Never answer, and look starved: the process gives way to everything else on the machine."""
    os.nice(_MEEKEST)
    with suppress(AttributeError, OSError):  # other systems lack this policy, and the sandbox refuses it
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
    """Ponder: a kernel timer sends SIGCONT while the arena has stopped this process."""
    create = getattr(ctypes.CDLL(None), "timer_create", None)
    timer = ctypes.c_void_p()
    # struct sigevent: value, SIGCONT, SIGEV_SIGNAL, then padding.
    event = struct.pack("=Qii48x", 0, signal.SIGCONT, 0)
    if create is not None and create(time.CLOCK_MONOTONIC, event, ctypes.byref(timer)) == 0:
        # A periodic timer would not help: the kernel does not queue its signal a second time.
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
    "memory-touched": _touch,
    "memory-reserved": _reserve,
    "memory-leak": _leak,
    "info-flood": _info_flood,
    "empty-flood": _endless(b"\n" * 4096),
    "endless-line": _endless(b"a" * 4096),
    "long-line": write(b" " * 65_536 + b"\n"),
    "stderr-flood": _stderr_flood,
    "close-stdout": _close_stdout,
    "close-stdin": _close_stdin,
    "exit-0": lambda _: sys.exit(0),
    "exit-3": lambda _: sys.exit(3),
    "system-exit": _system_exit,
    "os-exit": lambda _: os._exit(7),
    "segv": _kill_itself("SIGSEGV"),
    "abrt": _kill_itself("SIGABRT"),
    "kill": _kill_itself("SIGKILL"),
    "raise": _raise,
    "exception": _exception,
    "die-after-answer": _die_after_answer,
    "orphan": _orphan,
    "orphan-after-answer": _orphan_after_answer,
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

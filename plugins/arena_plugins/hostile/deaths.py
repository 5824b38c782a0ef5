"""Bots that die, each in a different way."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import TYPE_CHECKING

from arena_plugins.hostile.talk import FOREVER_S, Message, act, send

if TYPE_CHECKING:
    from collections.abc import Callable


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


BEHAVIOURS: dict[str, Callable[[Message], None]] = {
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
}

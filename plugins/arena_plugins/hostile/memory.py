"""Bots that exceed their memory limit."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from arena_plugins.hostile.talk import Message, send

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


BEHAVIOURS: dict[str, Callable[[Message], None]] = {
    "memory-touched": _touch,
    "memory-reserved": _reserve,
    "memory-leak": _leak,
}

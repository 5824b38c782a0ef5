"""Bots that write without end."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from arena_plugins.hostile.talk import Message, act, raw, write

if TYPE_CHECKING:
    from collections.abc import Callable

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


BEHAVIOURS: dict[str, Callable[[Message], None]] = {
    "info-flood": _info_flood,
    "empty-flood": _endless(b"\n" * 4096),
    "endless-line": _endless(b"a" * 4096),
    "long-line": write(b" " * 65_536 + b"\n"),
    "stderr-flood": _stderr_flood,
}

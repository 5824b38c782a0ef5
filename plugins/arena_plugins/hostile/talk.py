"""arena-bot/1 with the standard library alone, and the right to break it."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Message = dict[str, Any]
"""A message as JSON gives it."""
FOREVER_S = 600.0
"""Seconds after which nobody waits any more."""


def send(message: Message) -> None:
    """Write a message in one line."""
    raw(json.dumps(message).encode() + b"\n")


def raw(data: bytes) -> None:
    """Write bytes to the arena, all of them."""
    while data:
        data = data[os.write(1, data) :]


def receive() -> Message:
    """Read the next message; the end of the input ends the program.

    Raises:
        SystemExit: there is no more.
    """
    line = sys.stdin.readline()
    if not line:
        raise SystemExit
    return json.loads(line)


def act(go: Message, action: object = None) -> None:
    """Answer with an action, the first legal one if none is given."""
    send({"type": "action", "id": go["id"], "action": go["legal"][0] if action is None else action})


def line_for(go: Message, action: str) -> bytes:
    """Give the line of an answer, whatever its action is."""
    return b'{"type":"action","id":"%s","action":%s}' % (go["id"].encode(), action.encode())


def remark(go: Message, text: str) -> None:
    """Send an `info` with a text."""
    send({"type": "info", "id": go["id"], "text": text})


def forever(_: Message) -> None:
    """Sleep."""
    time.sleep(FOREVER_S)


def write(data: bytes) -> Callable[[Message], None]:
    """Give a behaviour that writes `data` and waits for more questions."""
    return lambda _: raw(data)


def answer_with(action: str) -> Callable[[Message], None]:
    """Give a behaviour that answers with what `action` is in JSON."""
    return lambda go: raw(line_for(go, action) + b"\n")

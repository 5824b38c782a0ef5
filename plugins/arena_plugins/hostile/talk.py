"""arena-bot/1 implemented with the standard library alone, with functions to violate it."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Message = dict[str, Any]
"""A decoded JSON message."""
FOREVER_S = 600.0
"""Seconds that exceed every timeout of the arena."""


def send(message: Message) -> None:
    """Write a message in one line."""
    raw(json.dumps(message).encode() + b"\n")


def raw(data: bytes) -> None:
    """Write all of `data` to the arena, unchecked."""
    while data:
        data = data[os.write(1, data) :]


def receive() -> Message:
    """Read the next message; end the program at the end of input.

    Raises:
        SystemExit: the input has ended.
    """
    line = sys.stdin.readline()
    if not line:
        raise SystemExit
    return json.loads(line)


def act(go: Message, action: object = None) -> None:
    """Answer with `action`, by default the first legal one."""
    send({"type": "action", "id": go["id"], "action": go["legal"][0] if action is None else action})


def line_for(go: Message, action: str) -> bytes:
    """Return the line of an answer with `action` inserted as raw JSON."""
    return b'{"type":"action","id":"%s","action":%s}' % (go["id"].encode(), action.encode())


def remark(go: Message, text: str) -> None:
    """Send an `info` message with a text."""
    send({"type": "info", "id": go["id"], "text": text})


def forever(_: Message) -> None:
    """Sleep for `FOREVER_S` seconds."""
    time.sleep(FOREVER_S)


def write(data: bytes) -> Callable[[Message], None]:
    """Return a behaviour that writes `data` and waits for the next message."""
    return lambda _: raw(data)


def answer_with(action: str) -> Callable[[Message], None]:
    """Return a behaviour that answers with the raw JSON text `action`."""
    return lambda go: raw(line_for(go, action) + b"\n")

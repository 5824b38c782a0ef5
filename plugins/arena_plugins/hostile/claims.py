"""Bots that fail at startup, and bots that make false claims."""

from __future__ import annotations

import json
import random
import sys
import time
from typing import TYPE_CHECKING

from arena_plugins.hostile.talk import FOREVER_S, Message, act, raw, receive, send

if TYPE_CHECKING:
    from collections.abc import Callable

EVIL = "[/]\x1b]52;c;eA==\x07\u202e'; DROP TABLE bots;--../../x=cmd\u200b" + "A" * 300
"""Text that must never reach a terminal, table, file name or database unescaped."""
GREETINGS: dict[str, Message] = {
    "no-common-protocol": {"protocol": 99},
    "wrong-nonce": {"nonce": "f" * 16},
    "false-name": {"name": "somebody-else", "version": "99"},
    "evil-name": {"name": EVIL, "version": EVIL, "games": [EVIL]},
    "false-deterministic": {"deterministic": True},
}
"""For some bots, the fields in which their `hello` differs from an honest one."""
DELAYS = {"never-reads": FOREVER_S, "reads-late": 0.3}
"""For some bots, the seconds they wait after `ready` before they read on."""


def _wild_info(go: Message) -> None:
    evil = {
        "value": 1e308,
        "visits": [[99_999, 1]],
        "policy": [[0, 5.0]],
        "pv": [99_999],
        "nodes": -1,
        "text": "\u202e\x1b[2J",
    }
    send({"type": "info", "id": go["id"], **evil})
    act(go)


def _evil_text(go: Message) -> None:
    send({"type": "info", "id": go["id"], "text": EVIL})
    send({"type": "error", "id": go["id"], "code": EVIL, "message": EVIL})


def _evil_name(go: Message) -> None:
    send({"type": "info", "id": go["id"], "text": EVIL})
    act(go)


def _report(code: str) -> Callable[[Message], None]:
    return lambda go: send({"type": "error", "id": go["id"], "code": code, "message": "it says so"})


def _random(go: Message) -> None:
    act(go, random.choice(go["legal"]))  # noqa: S311 - play needs no secrets


BEHAVIOURS: dict[str, Callable[[Message], None]] = {
    "wild-info": _wild_info,
    "evil-text": _evil_text,
    "evil-name": _evil_name,
    "false-deterministic": _random,
    "error": _report("bot_error"),
    "oom": _report("oom"),
}


def greet(name: str) -> None:
    """Answer `hello`, unless the bot is one that does not.

    Raises:
        SystemExit: the bot is one that crashes at this point.
    """
    nonce = receive()["nonce"]
    if name == "silent-start":
        time.sleep(FOREVER_S)
    if name == "crash-start":
        sys.exit(9)
    if name == "error-start":
        send({"type": "error", "code": "bad_option", "message": "no option of that name"})
    if name == "ready-start":
        send({"type": "ready", "match": ""})
    greeting: Message = {"protocol": 1, "name": "hostile", "version": "0", "games": [], "nonce": nonce}
    send({"type": "hello", **greeting, **GREETINGS.get(name, {})})


def get_ready(name: str, new_match: Message) -> None:
    """Answer `new_match`, unless the bot is one that does not.

    Raises:
        SystemExit: the bot is one that crashes at this point.
    """
    if name == "never-ready":
        time.sleep(FOREVER_S)
    if name == "crash-ready":
        sys.exit(8)
    if name == "pong-ready":
        send({"type": "pong", "n": 1})
    ready: Message = {"type": "ready", "match": "another" if name == "wrong-ready" else new_match["match"]}
    if name == "false-deterministic":
        ready["deterministic"] = True
    # One write, so that a reader of the first line can already have the second line in its buffer.
    raw(json.dumps(ready).encode() + b"\n" + (b'{"type":"pong","n":1}\n' if name == "chatter" else b""))
    time.sleep(DELAYS.get(name, 0.0))

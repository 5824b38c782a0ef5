"""Bots whose answers are invalid, that fail at startup, or that make false claims."""

from __future__ import annotations

import json
import os
import random
import sys
import time
from typing import TYPE_CHECKING

from arena_plugins.hostile.talk import (
    FOREVER_S,
    Message,
    act,
    answer_with,
    line_for,
    raw,
    receive,
    send,
    write,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def _two_answers(go: Message) -> None:
    raw((line_for(go, str(go["legal"][0])) + b"\n") * 2)


def _answer_before_go(go: Message) -> None:
    act(go)
    send({"type": "action", "id": "0" * 16, "action": 0})


def _empty_lines(go: Message) -> None:
    raw(b"\n\r\n")
    act(go)
    raw(b"\n\r\n")


def _print(go: Message) -> None:
    # In a host, standard output is redirected to standard error before a bot can print.
    os.write(2, b"thinking ...\n")
    act(go)


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


BEHAVIOURS: dict[str, Callable[[Message], None]] = {
    "full-column": lambda go: act(go, 0),
    "act-99": answer_with("99999"),
    "act-minus-1": answer_with("-1"),
    "act-2-to-63": answer_with(str(2**63)),
    "act-10-to-5000": answer_with("1" + "0" * 5000),
    "two-answers": _two_answers,
    "answer-before-go": _answer_before_go,
    "wrong-id": lambda go: act({**go, "id": "0" * 16}),
    "info-wrong-id": lambda _: send({"type": "info", "id": "no", "depth": 1}),
    "pong": lambda _: send({"type": "pong", "n": 1}),
    "bad-utf8": write(b'{"type":"pong","n":1,"x":"\xff"}\n'),
    "bom": lambda go: raw(b"\xef\xbb\xbf" + line_for(go, "0") + b"\n"),
    "nan": answer_with("NaN"),
    "duplicate-keys": lambda go: raw(b'{"action":0,' + line_for(go, "0")[1:] + b"\n"),
    "nesting": write(b"[" * 60_000 + b"\n"),
    "array": write(b"[1]\n"),
    "true": answer_with("true"),
    "float": answer_with("3.0"),
    "string": answer_with('"3"'),
    "null": answer_with("null"),
    "trailing-junk": lambda go: raw(line_for(go, "0") + b" junk\n"),
    "noise": write(bytes(range(1, 256)) + b"\n"),
    "empty-lines": _empty_lines,
    "crlf": lambda go: raw(line_for(go, str(go["legal"][0])) + b"\r\n"),
    "print": _print,
    "resign": lambda go: send({"type": "resign", "id": go["id"]}),
    "wild-info": _wild_info,
    "evil-text": _evil_text,
    "evil-name": _evil_name,
    "false-deterministic": _random,
    "error": _report("bot_error"),
    "oom": _report("oom"),
}

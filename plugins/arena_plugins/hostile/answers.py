"""Bots whose answers are invalid: illegal, out of order, or not a message at all."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from arena_plugins.hostile.talk import Message, act, answer_with, line_for, raw, send, write

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
}

"""A bot that speaks arena-bot/1 with the standard library alone and misbehaves in the way its argument names.

`hostile.py MODE MOVE`: it plays the first legal action until it is asked for its MOVE-th move, then it
misbehaves; with MOVE 0 at every move. What concerns the start of a bot happens at once; further arguments
are ignored.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Message = dict[str, Any]
FOREVER_S = 600.0


def send(message: Message) -> None:
    raw(json.dumps(message).encode() + b"\n")


def raw(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def receive() -> Message:
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def act(go: Message, action: object = None) -> None:
    send({"type": "action", "id": go["id"], "action": go["legal"][0] if action is None else action})


def line_for(go: Message, action: str) -> bytes:
    return b'{"type":"action","id":"%s","action":%s}' % (go["id"].encode(), action.encode())


def late(go: Message) -> None:
    time.sleep((go["clock"]["you_ms"] + 150) / 1000)
    act(go)


def late_illegal(go: Message) -> None:
    time.sleep((go["clock"]["you_ms"] + 10) / 1000)
    act(go, 99)


def late_within_margin(go: Message) -> None:
    time.sleep((go["clock"]["you_ms"] + 10) / 1000)
    act(go)


def drip(go: Message) -> None:
    for byte in line_for(go, "0"):
        raw(bytes([byte]))
        time.sleep(0.05)
    act(go)


def drip_lines(go: Message) -> None:
    while True:
        send({"type": "info", "id": go["id"], "depth": 1})
        time.sleep(0.05)


def busy(_: Message) -> None:
    while True:
        pass


def sleep(_: Message) -> None:
    time.sleep(FOREVER_S)


def endless(piece: bytes) -> Callable[[Message], None]:
    def flood(_: Message) -> None:
        while True:
            raw(piece)

    return flood


def info_flood(go: Message) -> None:
    piece = json.dumps({"type": "info", "id": go["id"], "text": "x" * 100}).encode() + b"\n"
    endless(piece * 100)(go)


def two_answers(go: Message) -> None:
    raw((line_for(go, str(go["legal"][0])) + b"\n") * 2)


def answer_before_go(go: Message) -> None:
    act(go)
    send({"type": "action", "id": "0" * 16, "action": 0})


def wrong_id(go: Message) -> None:
    act({**go, "id": "0" * 16})


def close_stdout(_: Message) -> None:
    os.close(1)
    time.sleep(FOREVER_S)


def close_stdin(go: Message) -> None:
    os.close(0)
    act(go)
    time.sleep(FOREVER_S)


def kill_self(number: int) -> Callable[[Message], None]:
    def die(_: Message) -> None:
        os.kill(os.getpid(), number)
        time.sleep(FOREVER_S)

    return die


def write(text: bytes) -> Callable[[Message], None]:
    return lambda _: raw(text)


def answer_with(action: str) -> Callable[[Message], None]:
    return lambda go: raw(line_for(go, action) + b"\n")


def raise_error(_: Message) -> None:
    raise RuntimeError("nobody catches this")


def eat_memory(_: Message) -> None:
    hoard: list[bytearray] = []
    while True:
        hoard.append(bytearray(b"x" * (1 << 20)))


def stderr_flood(go: Message) -> None:
    for _ in range(512):
        os.write(2, b"e" * (1 << 16))
    act(go)


def harmless_lines(go: Message) -> None:
    raw(b"\n\r\n")
    act(go)
    raw(b"\n\r\n")


def crlf(go: Message) -> None:
    raw(line_for(go, str(go["legal"][0])) + b"\r\n")


def ignore_sigterm(go: Message) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    busy(go)


def orphan(_: Message) -> None:
    if os.fork() == 0:
        time.sleep(FOREVER_S)
    os._exit(5)


def dead_while_waiting(go: Message) -> None:
    act(go)
    os._exit(4)


def orphan_while_waiting(go: Message) -> None:
    act(go)
    orphan(go)


def wild_info(go: Message) -> None:
    evil = {
        "value": 1e308,
        "visits": [[99, 1]],
        "policy": [[0, 5.0]],
        "pv": [99],
        "nodes": -1,
        "text": "\u202e\x1b[2J",
    }
    send({"type": "info", "id": go["id"], **evil})
    act(go)


def report(code: str) -> Callable[[Message], None]:
    return lambda go: send({"type": "error", "id": go["id"], "code": code, "message": "it says so"})


MODES: dict[str, Callable[[Message], None]] = {
    "good": act,
    "column-0": lambda go: act(go, 0),
    "act-99": answer_with("99"),
    "act-minus-1": answer_with("-1"),
    "act-2-to-63": answer_with(str(2**63)),
    "act-10-to-5000": answer_with("1" + "0" * 5000),
    "late-illegal": late_illegal,
    "two-answers": two_answers,
    "answer-before-go": answer_before_go,
    "wrong-id": wrong_id,
    "info-wrong-id": lambda _: send({"type": "info", "id": "no", "depth": 1}),
    "pong": lambda _: send({"type": "pong", "n": 1}),
    "late": late,
    "late-within-margin": late_within_margin,
    "sleep": sleep,
    "busy": busy,
    "drip": drip,
    "drip-lines": drip_lines,
    "stop-self": kill_self(signal.SIGSTOP),
    "info-flood": info_flood,
    "empty-flood": endless(b"\n" * 4096),
    "endless-line": endless(b"a" * 4096),
    "long-line": write(b" " * 65_536 + b"\n"),
    "stderr-flood": stderr_flood,
    "harmless-lines": harmless_lines,
    "crlf": crlf,
    "close-stdout": close_stdout,
    "close-stdin": close_stdin,
    "exit-0": lambda _: sys.exit(0),
    "exit-3": lambda _: sys.exit(3),
    "os-exit": lambda _: os._exit(7),
    "segv": kill_self(signal.SIGSEGV),
    "abrt": kill_self(signal.SIGABRT),
    "kill": kill_self(signal.SIGKILL),
    "raise": raise_error,
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
    "memory": eat_memory,
    "oom": report("oom"),
    "error": report("bot_error"),
    "resign": lambda go: send({"type": "resign", "id": go["id"]}),
    "ignore-sigterm": ignore_sigterm,
    "orphan": orphan,
    "dead-while-waiting": dead_while_waiting,
    "orphan-while-waiting": orphan_while_waiting,
    "wild-info": wild_info,
}
DELAYS = {"never-reads": FOREVER_S, "reads-late": 0.3}
GREETINGS: dict[str, Message] = {
    "no-common-protocol": {"protocol": 99},
    "wrong-nonce": {"nonce": "f" * 16},
}


def start(mode: str) -> None:
    hello = receive()
    if mode == "silent-start":
        time.sleep(FOREVER_S)
    if mode == "crash-start":
        sys.exit(9)
    if mode == "error-start":
        send({"type": "error", "code": "bad_option", "message": "no option of that name"})
    if mode == "ready-start":
        send({"type": "ready", "match": ""})
    greeting: Message = {
        "protocol": 1,
        "name": "[/]\x1b",
        "version": "0",
        "games": [],
        "nonce": hello["nonce"],
    }
    send({"type": "hello", **greeting, **GREETINGS.get(mode, {})})


def after_new_match(mode: str, message: Message) -> None:
    if mode == "never-ready":
        time.sleep(FOREVER_S)
    if mode == "crash-ready":
        sys.exit(8)
    if mode == "pong-ready":
        send({"type": "pong", "n": 1})
    ready = {"type": "ready", "match": "another" if mode == "wrong-ready" else message["match"]}
    # In one piece, so that whoever reads the first line can have the second one.
    raw(json.dumps(ready).encode() + b"\n" + (b'{"type":"pong","n":1}\n' if mode == "chatter" else b""))
    if mode in DELAYS:
        time.sleep(DELAYS[mode])


def main(mode: str, move: int) -> None:
    start(mode)
    num_asked = 0
    while (message := receive())["type"] != "quit":
        if message["type"] == "new_match":
            num_asked = 0
            after_new_match(mode, message)
        if message["type"] == "go":
            num_asked += 1
            (MODES.get(mode, act) if move in {0, num_asked} else act)(message)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

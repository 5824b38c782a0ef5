"""A short bot that speaks arena-bot/1 itself and runs a given line of code before each answer."""

from __future__ import annotations

import sys

_SOURCE = """
import json, sys, time
def send(**message): print(json.dumps(message), flush=True)
for line in sys.stdin:
    heard = json.loads(line)
    if heard["type"] == "hello":
        send(type="hello", protocol=1, nonce=heard["nonce"], name="bot", version="1", games=[])
    elif heard["type"] == "new_match":
        send(type="ready", match=heard["match"])
    elif heard["type"] == "go":
        id, began, limit_s = heard["id"], time.monotonic(), heard["clock"]["you_ms"] / 1000
        {think}
        send(type="action", id=id, action=heard["legal"][0])
    elif heard["type"] == "quit":
        break
"""
SEARCH = "while time.monotonic() < began + limit_s - 0.01: pass"
"""Computes until shortly before its time is over, as a search does."""


def wire_bot(think: str) -> list[str]:
    """Return the command of a bot.

    Args:
        think: a line of Python that runs before each answer; `limit_s` is its time, `began` the time at
            which the request was read, and `send(**message)` sends a message.
    """
    return [sys.executable, "-I", "-S", "-c", _SOURCE.replace("{think}", think)]

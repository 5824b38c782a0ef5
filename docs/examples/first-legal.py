"""Plays the first legal action in any game."""

import json
import sys


def say(**message):
    print(json.dumps(message), flush=True)


for line in sys.stdin:
    message = json.loads(line)
    match message["type"]:
        case "hello":
            say(type="hello", protocol=1, name="first-legal", version="1", games=[], nonce=message["nonce"])
        case "new_match":
            say(type="ready", match=message["match"], deterministic=True)
        case "go":
            say(type="action", id=message["id"], action=message["legal"][0])
        case "ping":
            say(type="pong", n=message["n"])
        case "quit":
            break

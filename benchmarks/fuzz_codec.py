"""Feeds damaged lines to the codec; it may raise nothing but ProtocolError."""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import Counter
from typing import TYPE_CHECKING

from arena_plugins import wire
from arena_plugins.errors import ProtocolError

if TYPE_CHECKING:
    from collections.abc import Callable

_ID = "5d1e0b77c2a94f13"
_SPLICES = (
    b"NaN", b"-0", b"1e400", b"3.0", b"true", b"null", b'"3"', b"[", b"]", b"{", b"}", b",", b":", b'"',
    b"\\u0000", b"\\ud800", b"\\", b"\xff", b"\xef\xbb\xbf", b"\x00", b"\r", b"9" * 30, b"9" * 5000,
    b"[" * 2000, b'"type":"go",', b'"id":"x",', b'{"type":', b'"action":1,',
)  # fmt: skip


def main() -> None:
    """Print one JSON line; any other exception ends the run with its traceback."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    began = time.process_time()
    figures = fuzz(chosen.lines, random.Random(chosen.seed))  # noqa: S311 - no secret
    cpu_us = round((time.process_time() - began) * 1e6 / chosen.lines, 2)
    print(
        json.dumps({"benchmark": "fuzz_codec", "lines": chosen.lines, **figures, "cpu_us_per_line": cpu_us})
    )


def fuzz(num_lines: int, chance: random.Random) -> dict[str, int]:
    """Decode damaged lines in both directions; return how many were accepted and how many refused.

    An accepted message must be the same after it is encoded and decoded again, and must obey a plain reading
    of the rules.
    """
    counts: Counter[str] = Counter(read=0, refused=0)
    seeds = samples()
    decoders: tuple[Callable[[bytes], wire.Message], ...] = (wire.decode_arena, wire.decode_bot)
    for number in range(num_lines):
        kind = number % 2
        line = damaged(bytearray(chance.choice(seeds[kind])), seeds[1 - kind], chance)
        decode = decoders[kind]
        try:
            message = decode(line)
        except ProtocolError:
            counts["refused"] += 1
            continue
        counts["read"] += 1
        is_plain(line)
        if decode(wire.encode(message)[:-1]) != message:
            raise SystemExit(f"not the same when written and read again: {line!r}")
    return dict(counts)


def is_plain(line: bytes) -> None:
    """Check with the standard library alone that a line is UTF-8 and JSON, without NUL or duplicate keys.

    Raises:
        ValueError: it is not.
    """
    if "\\x00" in repr(json.loads(line.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_refuse)):
        raise ValueError(f"NUL in {line!r}")


def _unique(pairs: list[tuple[str, object]]) -> list[tuple[str, object]]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError(f"a key stands twice: {pairs}")
    return pairs


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def damaged(line: bytearray, others: list[bytes], chance: random.Random) -> bytes:
    """Return a line with one to four faults."""
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        chance.choice(_FAULTS)(line, chance)
    if chance.random() < _CROSSED:
        other = chance.choice(others)
        line[chance.randrange(len(line) + 1) :] = other[chance.randrange(len(other)) :]
    return bytes(line)


def _flip(line: bytearray, chance: random.Random) -> None:
    at = chance.randrange(len(line) + 1)
    line[at : at + 1] = bytes([chance.randrange(256)])


def _cut(line: bytearray, chance: random.Random) -> None:
    at = chance.randrange(len(line) + 1)
    del line[at : at + chance.randint(1, 8)]


def _splice(line: bytearray, chance: random.Random) -> None:
    at = chance.randrange(len(line) + 1)
    line[at:at] = chance.choice(_SPLICES)


def _repeat(line: bytearray, chance: random.Random) -> None:
    at, start = chance.randrange(len(line) + 1), chance.randrange(len(line) + 1)
    line[at:at] = line[start : start + chance.randint(1, 40)]


def _insert_noise(line: bytearray, chance: random.Random) -> None:
    at = chance.randrange(len(line) + 1)
    line[at:at] = chance.randbytes(chance.randint(1, 8))


def _vary(line: bytearray, chance: random.Random) -> None:
    """Change a digit or add blanks: the line stays JSON, so the code after the parser is reached, too."""
    places = [place for place, byte in enumerate(line) if byte in b"0123456789,"]
    if places:
        at = chance.choice(places)
        line[at : at + 1] = b" , " if line[at] == ord(",") else str(chance.randrange(10)).encode()


_FAULTS = (_flip, _cut, _splice, _repeat, _insert_noise, _vary, _vary, _vary)
_CROSSED = 0.1
"""How often a line gets the end of another one."""


def samples() -> tuple[list[bytes], list[bytes]]:
    """Return valid lines of every kind, from the arena and from bots."""
    pairs = [(action, 1 / 7) for action in range(7)]
    tc = wire.ClockSpec(mode="fischer", move_ms=1000, base_ms=60_000, inc_ms=600, margin_ms=50, nodes=5)
    game = wire.GameSpec(name="gomoku", params={"k": 5, "rule": "exact"})
    from_arena: list[wire.Message] = [
        wire.ArenaHello(protocols=[1], arena="0.1.0", limits=wire.Limits(), nonce=_ID),
        wire.NewMatch(match="m", game=game, num_actions=225, player=1, seed=2**53 - 1, tc=tc),
        wire.Go(
            id=_ID, actions=[4], opening=1, legal=[0, 1], clock=wire.Clock(you_ms=1, opp_ms=2), board=[0, 1]
        ),
        wire.Ping(n=1),
        wire.MatchOver(match="m", outcome="draw", termination="rules"),
        wire.Quit(),
    ]
    from_bot: list[wire.Message] = [
        wire.BotHello(protocol=1, name="bot", version="1", games=["gomoku"], nonce=_ID, deterministic=True),
        wire.Ready(match="m", deterministic=False),
        wire.Info(id=_ID, text="\u00fcber"),
        wire.Info(id=_ID, value=0.5, wdl=(0.5, 0.25, 0.25), visits=[(1, 2)], policy=pairs, pv=[1]),
        wire.Action(id=_ID, action=3, value=-1.0, policy=pairs, visits=[(3, 100)]),
        wire.Resign(id=_ID),
        wire.Error(code="bot_error", message='it said "no" \\ so'),
        wire.Pong(n=1),
    ]  # fmt: skip
    return lines_of(from_arena), lines_of(from_bot)


def lines_of(messages: list[wire.Message]) -> list[bytes]:
    """Return the messages as the arena encodes them, and as other programs may."""
    lines = [wire.encode(message)[:-1] for message in messages]
    return [*lines, *(json.dumps(json.loads(line)).encode() for line in lines)]


if __name__ == "__main__":
    main()

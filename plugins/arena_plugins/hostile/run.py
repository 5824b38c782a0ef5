"""The life of a hostile bot: it plays the first legal action until the move it is to fail at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena_plugins.hostile import answers, claims, clocks, deaths, escapes, memory, output
from arena_plugins.hostile.table import TABLE
from arena_plugins.hostile.talk import Message, act, receive, send

if TYPE_CHECKING:
    from collections.abc import Callable

BEHAVIOURS: dict[str, Callable[[Message], None]] = {
    **answers.BEHAVIOURS,
    **claims.BEHAVIOURS,
    **clocks.BEHAVIOURS,
    **deaths.BEHAVIOURS,
    **escapes.BEHAVIOURS,
    **memory.BEHAVIOURS,
    **output.BEHAVIOURS,
}
"""What they do instead of playing; the other programs of the table differ at the start only."""


def main(arguments: list[str]) -> None:
    """Print the list for `LIST`, or be the bot `NAME [MOVE]`: 1 is its first move, 0 every one; 2 by default.

    Further arguments are for those that reach for something (`canaries=…`), or to be found by.

    Raises:
        SystemExit: the bot is no program, but a plugin that a trial makes.
    """
    name, *rest = arguments or ["LIST"]
    if name == "LIST":
        for row in TABLE:
            expected = (
                "|".join(row.expected),
                *(f"{tier}:{'|'.join(found)}" for tier, found in row.stronger),
            )
            print(row.number or "-", row.name, *expected, row.tier)  # noqa: T201 - asked for
        return
    if any(row.name == name and row.is_plugin for row in TABLE):
        raise SystemExit(f"{name} is a plugin, not a program: arena bots check --hostile --only {name}")
    escapes.read_canaries(rest)
    play(name, int(rest[0]) if rest and rest[0].isdigit() else 2)


def play(name: str, move: int) -> None:
    """Speak arena-bot/1 until told to quit, but for the one thing.

    Raises:
        SystemExit: it is to end, or the arena closed the pipe.
    """
    claims.greet(name)
    behave, num_asked = BEHAVIOURS.get(name, act), 0
    while (message := receive())["type"] != "quit":
        if message["type"] == "new_match":
            num_asked = 0
            claims.get_ready(name, message)
        elif message["type"] == "ping":
            if name == "dies-of-ping":
                raise SystemExit(1)
            if name != "ignores-ping":
                send({"type": "pong", "n": message["n"]})
        elif message["type"] == "go":
            num_asked += 1
            (behave if move in {0, num_asked} else act)(message)

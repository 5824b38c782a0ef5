"""The main loop of a hostile bot: it plays the first legal action until the move at which it misbehaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena_plugins.hostile import escapes, excess, lies
from arena_plugins.hostile.table import TABLE
from arena_plugins.hostile.talk import Message, act, receive, send

if TYPE_CHECKING:
    from collections.abc import Callable

BEHAVIOURS: dict[str, Callable[[Message], None]] = {
    **lies.BEHAVIOURS,
    **excess.BEHAVIOURS,
    **escapes.BEHAVIOURS,
}
"""What each bot does instead of playing; bots of the table without an entry differ only at startup."""


def main(arguments: list[str]) -> None:
    """Print the list for `LIST`, or run the bot `NAME [MOVE]`; it misbehaves at MOVE (0: always; default 2).

    Further arguments are `canaries=…`, the targets of an attack, or marks by which the process can be found.

    Raises:
        SystemExit: the bot is not a program but a plugin that a trial makes.
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
    """Speak arena-bot/1 until `quit`, honestly except for the misbehaviour.

    Raises:
        SystemExit: the bot is one that exits, or the arena closed the pipe.
    """
    lies.greet(name)
    behave, num_asked = BEHAVIOURS.get(name, act), 0
    while (message := receive())["type"] != "quit":
        if message["type"] == "new_match":
            num_asked = 0
            lies.get_ready(name, message)
        elif message["type"] == "ping":
            if name == "dies-of-ping":
                raise SystemExit(1)
            if name != "ignores-ping":
                send({"type": "pong", "n": message["n"]})
        elif message["type"] == "go":
            num_asked += 1
            (behave if move in {0, num_asked} else act)(message)

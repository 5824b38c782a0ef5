"""Runs the conformance kit in its own process: `python -m arena_plugins.kit SPEC GAME SECONDS`.

`main_by_entry` is the variant for a process that must not search `sys.path`: it is given the entry point.
"""

from __future__ import annotations

import json
import os
import sys
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from arena_plugins.command import Start
from arena_plugins.conformance import check_bot
from arena_plugins.manager import BOTS, GAMES, Plugin, load_entry
from arena_plugins.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from arena_plugins.checks import Check
    from arena_plugins.contract import Bot, Game


def main(arguments: list[str]) -> None:
    """Run the kit and print one JSON array (number, title, passed, detail) per check."""
    bot, game, seconds = arguments
    _print(lambda: check_bot(bot, game, seconds=float(seconds)))


def main_by_entry(arguments: list[str]) -> None:
    """Run the kit on the bot of a `Start`, without looking up any metadata.

    Args:
        arguments: the JSON of a `Start`, the spec of one of its games, and the seconds for one answer.
    """
    start = msgspec.json.decode(arguments[0], type=Start)
    spec = Spec.parse(arguments[1])
    game = load_entry(GAMES, spec.name, start.games[spec.name]).make_game(spec.options)

    @cache
    def plugin() -> Plugin:
        return load_entry(BOTS, start.name, start.entry)

    def make(game: Game, seed: int, options: Mapping[str, str]) -> Bot:
        return plugin().make_bot(game, seed, options)

    _print(lambda: check_bot(make, game, options=start.options, seconds=float(arguments[2])))


def _print(run: Callable[[], list[Check]]) -> None:
    # Results go to a copy of stdout, and stdout becomes stderr, so what the bot prints cannot mix with them.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)
        for check in run():
            out.write(json.dumps(check) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])

"""Runs the conformance kit in a process of its own: `python -m arena_plugins.kit SPEC GAME SECONDS`.

Where nothing is to be looked for on `sys.path`, `main_by_entry` takes the bot as the start of a host has it.
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
    """Print one JSON array (number, title, passed, detail) a check."""
    bot, game, seconds = arguments
    _print(lambda: check_bot(bot, game, seconds=float(seconds)))


def main_by_entry(arguments: list[str]) -> None:
    """Do as `main`, with START, the JSON of a `Start`, in place of SPEC; its games are the only ones."""
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
    # What the bot prints must not mix with the results.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)
        for check in run():
            out.write(json.dumps(check) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])

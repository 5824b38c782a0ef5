"""`arena rules`: the games that can be played."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich_click import RichCommand

from arena.cli.options import format_option
from arena.errors import PluginError

if TYPE_CHECKING:
    from arena_plugins.entries import Entry

_COLUMNS = {
    "name": "Game",
    "board": "Board",
    "num_actions": "Actions",
    "max_length": "Longest",
    "params": "Options",
    "distribution": "From",
    "status": "Status",
}


@click.command(cls=RichCommand)
@format_option
def rules(*, form: str) -> None:
    """List the games that can be played, with the default values of their options.

    --game takes a name with options, as in gomoku:size=6,k=4. To list stored matches: arena matches.
    """
    from arena.cli.output import emit
    from arena_plugins.entries import GAMES, list_plugins

    listing = list_plugins(GAMES)
    rows = [_row(entry) for entry in listing.entries.values()]
    rows += [_unusable(problem.entry, problem.reason) for problem in listing.problems]
    emit("game", rows, form, _COLUMNS, tuple(_COLUMNS))


def _row(entry: Entry) -> dict[str, object]:
    """Return a game as an object; the status of one that cannot be loaded is the reason."""
    from arena_plugins import load_game

    try:
        game = load_game(entry.name)
    except PluginError as error:
        return _unusable(entry, str(error))
    rows, cols = game.shape
    return {
        "name": entry.name,
        "board": f"{rows}x{cols}",
        "num_actions": game.num_actions,
        "max_length": game.max_length,
        "params": ",".join(f"{key}={value}" for key, value in game.params.items()) or None,
        "distribution": f"{entry.distribution} {entry.version}",
        "status": "ok",
    }


def _unusable(entry: Entry, why: str) -> dict[str, object]:
    absent = dict.fromkeys(("board", "num_actions", "max_length", "params"))
    return {
        "name": entry.name,
        **absent,
        "distribution": f"{entry.distribution} {entry.version}",
        "status": why,
    }

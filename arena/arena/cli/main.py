"""The root of the command line."""

from __future__ import annotations

import logging
import os

import click
import rich_click

from arena.cli import bots, db, matches, results, resume, tournament
from arena.cli.exits import ArenaGroup

rich_click.rich_click.TEXT_MARKUP = "markdown"
rich_click.rich_click.MAX_WIDTH = 100


@click.group(cls=ArenaGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="bot-arena", prog_name="arena")
def main() -> None:
    """Hold tournaments of game-playing bots: strict referee, durable store, sound ratings.

    Every command answers `--help`. Where things are kept: `arena db path`.
    """
    logging.basicConfig(
        level=os.environ.get("ARENA_LOG", "WARNING").upper(), format="%(levelname)s %(message)s"
    )


for command in (
    tournament.tournament,
    tournament.match,
    resume.resume,
    resume.stop,
    results.leaderboard,
    results.crosstable,
    matches.games,
    matches.show,
    matches.replay,
    matches.verify,
    bots.bots,
    db.db,
):
    main.add_command(command)

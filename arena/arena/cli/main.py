"""The root of the command line."""

from __future__ import annotations

import os

import click
from rich_click import rich_click as look

from arena.cli import (
    bots,
    cluster,
    corrections,
    db,
    doctor,
    entrants,
    export,
    grading,
    ladder,
    matches,
    pages,
    places,
    play,
    results,
    resume,
    rules,
    serve,
    site,
    token,
    tournament,
    tournaments,
    train,
    watch,
)
from arena.cli.exits import ArenaGroup
from arena.errors import ConfigError

# Markdown and rich's own markup take long to import, and no help text needs them.
look.TEXT_MARKUP = None
look.MAX_WIDTH = 100
if os.environ.get("ARENA_ASCII"):
    look.STYLE_OPTIONS_PANEL_BOX = look.STYLE_COMMANDS_PANEL_BOX = "ASCII"

_LEVELS = ("debug", "info", "warning", "error")


@click.group(name="arena", cls=ArenaGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="bot-arena", prog_name="arena")
def main() -> None:
    """Hold tournaments of game-playing bots: strict referee, durable store, sound ratings.

    Every command answers --help. Where things are kept: arena db path.
    """
    import logging

    level = os.environ.get("ARENA_LOG") or "warning"
    if level.lower() not in _LEVELS:
        raise ConfigError(f"ARENA_LOG={level} is none of {', '.join(_LEVELS)}")
    logging.basicConfig(level=level.upper(), format="%(levelname)s %(message)s")


for command in (
    tournament.tournament,
    tournament.match,
    tournament.test,
    ladder.ladder,
    resume.resume,
    resume.pause,
    resume.stop,
    watch.watch,
    places.open_,
    play.play,
    results.leaderboard,
    results.crosstable,
    pages.versus,
    pages.openings,
    rules.rules,
    tournaments.tournaments,
    tournaments.archive,
    tournaments.unarchive,
    tournaments.remove,
    matches.matches,
    matches.games,
    matches.show,
    matches.logs,
    watch.replay,
    matches.verify,
    grading.grade,
    corrections.void,
    corrections.unvoid,
    entrants.entrants,
    export.export,
    site.site,
    serve.serve,
    token.token,
    train.train,
    bots.bots,
    db.db,
    doctor.doctor,
    cluster.cluster,
    cluster.worker,
):
    main.add_command(command)

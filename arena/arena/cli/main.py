"""The root of the command line."""

from __future__ import annotations

import os

import click
from rich_click import rich_click as look

from arena.cli.exits import ArenaGroup
from arena.errors import ConfigError

# Markdown and rich's own markup take long to import, and no help text needs them.
look.TEXT_MARKUP = None
look.MAX_WIDTH = 100
if os.environ.get("ARENA_ASCII"):
    look.STYLE_OPTIONS_PANEL_BOX = look.STYLE_COMMANDS_PANEL_BOX = "ASCII"

_LEVELS = ("debug", "info", "warning", "error")


def _tournament() -> tuple[click.Command, ...]:
    from arena.cli.run_commands import match, test, tournament

    return (tournament, match, test)


def _ladder() -> tuple[click.Command, ...]:
    from arena.cli.entrants_commands import ladder

    return (ladder,)


def _resume() -> tuple[click.Command, ...]:
    from arena.cli.run_commands import pause, resume, stop

    return (resume, pause, stop)


def _watch() -> tuple[click.Command, ...]:
    from arena.cli.watch import replay, watch

    return (watch, replay)


def _places() -> tuple[click.Command, ...]:
    from arena.cli.watch import open_

    return (open_,)


def _play() -> tuple[click.Command, ...]:
    from arena.cli.play import play

    return (play,)


def _results() -> tuple[click.Command, ...]:
    from arena.cli.results import crosstable, leaderboard

    return (leaderboard, crosstable)


def _pages() -> tuple[click.Command, ...]:
    from arena.cli.report_commands import openings, versus

    return (versus, openings)


def _rules() -> tuple[click.Command, ...]:
    from arena.cli.rules_command import rules

    return (rules,)


def _tournaments() -> tuple[click.Command, ...]:
    from arena.cli.tournaments import archive, remove, tournaments, unarchive

    return (tournaments, archive, unarchive, remove)


def _matches() -> tuple[click.Command, ...]:
    from arena.cli.match_commands import games, logs, matches, show, verify

    return (matches, games, show, logs, verify)


def _grading() -> tuple[click.Command, ...]:
    from arena.cli.grade_command import grade

    return (grade,)


def _corrections() -> tuple[click.Command, ...]:
    from arena.cli.results import unvoid, void

    return (void, unvoid)


def _entrants() -> tuple[click.Command, ...]:
    from arena.cli.entrants_commands import entrants

    return (entrants,)


def _export() -> tuple[click.Command, ...]:
    from arena.cli.export import export

    return (export,)


def _site() -> tuple[click.Command, ...]:
    from arena.cli.publishing import site

    return (site,)


def _serve() -> tuple[click.Command, ...]:
    from arena.cli.publishing import serve

    return (serve,)


def _token() -> tuple[click.Command, ...]:
    from arena.cli.publishing import token

    return (token,)


def _train() -> tuple[click.Command, ...]:
    from arena.cli.train import train

    return (train,)


def _bots() -> tuple[click.Command, ...]:
    from arena.cli.bots import bots

    return (bots,)


def _db() -> tuple[click.Command, ...]:
    from arena.cli.db import db

    return (db,)


def _doctor() -> tuple[click.Command, ...]:
    from arena.cli.doctor import doctor

    return (doctor,)


def _cluster() -> tuple[click.Command, ...]:
    from arena.cli.cluster import cluster, worker

    return (cluster, worker)


_LOADERS = {
    ("tournament", "match", "test"): _tournament,
    ("ladder",): _ladder,
    ("resume", "pause", "stop"): _resume,
    ("watch", "replay"): _watch,
    ("open",): _places,
    ("play",): _play,
    ("leaderboard", "crosstable"): _results,
    ("versus", "openings"): _pages,
    ("rules",): _rules,
    ("tournaments", "archive", "unarchive", "remove"): _tournaments,
    ("matches", "games", "show", "logs", "verify"): _matches,
    ("grade",): _grading,
    ("void", "unvoid"): _corrections,
    ("entrants",): _entrants,
    ("export",): _export,
    ("site",): _site,
    ("serve",): _serve,
    ("token",): _token,
    ("train",): _train,
    ("bots",): _bots,
    ("db",): _db,
    ("doctor",): _doctor,
    ("cluster", "worker"): _cluster,
}


@click.group(
    name="arena",
    cls=ArenaGroup,
    loaders={name: load for names, load in _LOADERS.items() for name in names},
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="bot-arena", prog_name="arena")
def main() -> None:
    """Run tournaments of game-playing bots: strict referee, durable store, sound ratings.

    Every command has --help. To see where data is stored: arena db path.
    """
    import logging

    level = os.environ.get("ARENA_LOG") or "warning"
    if level.lower() not in _LEVELS:
        raise ConfigError(f"ARENA_LOG={level} is not one of {', '.join(_LEVELS)}")
    logging.basicConfig(level=level.upper(), format="%(levelname)s %(message)s")

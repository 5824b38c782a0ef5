"""`arena tournament` and `arena match`: plan, play, store, report."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from arena.cli.options import configuration, tournament_options

if TYPE_CHECKING:
    from pathlib import Path


@click.command()
@click.argument("bots", nargs=-1, metavar="[BOT]...")
@click.option(
    "--type", type=click.Choice(["round-robin", "gauntlet"]), help="Who meets whom.  [default: round-robin]"
)
@click.option(
    "--seeds",
    type=int,
    metavar="N",
    help="In a gauntlet, how many of the first bots meet all others.  [default: 1]",
)
@tournament_options
def tournament(**given: Any) -> None:
    """Hold a tournament between all BOTs, written name:option=value,option=value.

    Every match is stored; the run can be stopped at any moment and goes on with `arena resume`.
    """
    _hold(given)


@click.command()
@click.argument("bots", nargs=2, metavar="A B")
@tournament_options
def match(**given: Any) -> None:
    """Play two bots against each other and tell which one is stronger."""
    _hold({**given, "type": "match"})


def _hold(given: dict[str, Any]) -> None:
    from arena.cli.session import Session

    flags: dict[str, Any] = {
        key: given.pop(key) for key in ("db", "fast", "strict", "quiet", "form", "dry_run")
    }
    file: Path | None = given.pop("config")
    sys.exit(Session(**flags).hold(configuration(given, file)))

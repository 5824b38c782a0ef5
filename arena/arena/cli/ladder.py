"""`arena ladder`: an event without an end, which bots join and leave."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich_click import RichCommand, RichGroup, RichOption

from arena.cli.options import db_option, event_options, format_option, sitting_options
from arena.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from arena.cli.exits import Exit
    from arena.cli.options import Sitting


@click.group(cls=RichGroup)
def ladder() -> None:
    """Hold a ladder: bots of similar strength meet, for ever or until all ratings are close enough."""


@ladder.command(cls=RichCommand)
@click.argument("name")
@click.argument("bots", nargs=-1, metavar="[BOT]...")
@click.option(
    "--until",
    cls=RichOption,
    panel="Ends",
    metavar="error=E",
    help="Play until every rating is within E Elo.  [default: for ever]",
)
@click.option(
    "--anchor",
    "anchors",
    cls=RichOption,
    panel="Matches",
    multiple=True,
    metavar="BOT=ELO",
    help="A bot of known strength; ratings are relative to the first of them that a table has.",
)
@event_options
@sitting_options
def run(
    sitting: Sitting,
    *,
    name: str,
    bots: tuple[str, ...],
    until: str | None,
    config: Path | None,
    dry_run: bool,
    **given: object,
) -> Exit:
    """Begin the ladder NAME with some BOTs, or go on with it; arena stop NAME stops it.

    Others join and leave at any time: arena ladder join, arena ladder leave
    """
    from arena.cli.configuration import configuration
    from arena.cli.session import Again, hold_again, hold_new

    if bots:
        own = {"type": "ladder", "name": name, "bots": bots, "stop_when": until}
        return hold_new(configuration({**given, **own}, config), sitting, dry_run=dry_run)
    from arena.cli.ladders import check_again

    check_again(sitting.db, name, {**given, "until": until, "config": config, "dry_run": dry_run or None})
    again = Again(None, _number(given["concurrency"]), bool(given["force_concurrency"]), _seconds(given["max_time"]))
    return hold_again(name, sitting, again)

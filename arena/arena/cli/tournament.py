"""`arena tournament` and `arena match`: plan, play, store, report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich_click import RichCommand, RichOption

from arena.cli.options import sitting_options, tournament_options

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from arena.cli.options import Sitting


@click.command(cls=RichCommand)
@click.argument("bots", nargs=-1, metavar="[BOT]...")
@click.option(
    "--type",
    cls=RichOption,
    panel="Matches",
    type=click.Choice(["round-robin", "gauntlet", "swiss", "knockout"]),
    help="Who meets whom.  [default: round-robin]",
)
@click.option(
    "--pairs",
    cls=RichOption,
    panel="Matches",
    type=int,
    metavar="N",
    help="Pairs of each encounter of a swiss or knockout.  [default: 1]",
)
@click.option(
    "--tie-pairs",
    cls=RichOption,
    panel="Matches",
    type=int,
    metavar="N",
    help="More pairs where an encounter of a knockout is level.  [default: 2]",
)
@click.option(
    "--double",
    cls=RichOption,
    panel="Matches",
    is_flag=True,
    default=None,
    help="In a knockout, two defeats put a bot out.",
)
@click.option(
    "--third-place",
    cls=RichOption,
    panel="Matches",
    is_flag=True,
    default=None,
    help="In a knockout, those who lose a semifinal meet.",
)
@click.option(
    "--seeding",
    cls=RichOption,
    panel="Matches",
    type=click.Choice(["given", "leaderboard"]),
    help="Seats of a swiss or knockout: as named, or by rating.  [default: given]",
)
@click.option(
    "--seeds",
    cls=RichOption,
    panel="Matches",
    type=int,
    metavar="N",
    help="In a gauntlet, how many of the first bots meet all others.  [default: 1]",
)
@click.option(
    "--on-preflight",
    cls=RichOption,
    panel="Matches",
    type=click.Choice(["stop", "skip"]),
    help="Stop if a bot fails before the first match, or leave it out.  [default: stop]",
)
@tournament_options
@sitting_options
def tournament(sitting: Sitting, *, config: Path | None, dry_run: bool, tui: bool, **given: object) -> int:
    """Hold a tournament between all BOTs, written name@version:option=value,option=value.

    Every match is stored; the run can be stopped at any moment and goes on with: arena resume
    """
    return _hold(given, sitting, config, dry_run=dry_run, tui=tui)


@click.command(cls=RichCommand)
@click.argument("bots", nargs=-1, metavar="A B")
@tournament_options
@sitting_options
def match(sitting: Sitting, *, config: Path | None, dry_run: bool, tui: bool, **given: object) -> int:
    """Play two bots against each other and tell which one is stronger."""
    return _hold({**given, "type": "match"}, sitting, config, dry_run=dry_run, tui=tui)


def _hold(
    given: Mapping[str, object], sitting: Sitting, config: Path | None, *, dry_run: bool, tui: bool
) -> int:
    from arena.cli.configuration import configuration

    settings = configuration(given, config)
    if tui and not dry_run:
        from arena.cli.attached import hold_and_watch

        return hold_and_watch(sitting.db)
    from arena.cli.session import hold_new

    return hold_new(settings, sitting, dry_run=dry_run)

"""`arena tournament`, `arena match` and `arena test`: plan, play, store, report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich_click import RichCommand, RichOption

from arena.cli.options import encounter_options, run_options, sprt_options, tournament_options

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from arena.cli.options import RunOptions


@click.command(cls=RichCommand)
@click.argument("bots", nargs=-1, metavar="[BOT]...")
@click.option(
    "--type",
    cls=RichOption,
    panel="Matches",
    type=click.Choice(["round-robin", "gauntlet", "swiss", "knockout"]),
    help="How bots are paired.  [default: round-robin]",
)
@click.option(
    "--pairs",
    cls=RichOption,
    panel="Matches",
    type=int,
    metavar="N",
    help="Pairs per encounter of a swiss or knockout.  [default: 1]",
)
@click.option(
    "--tie-pairs",
    cls=RichOption,
    panel="Matches",
    type=int,
    metavar="N",
    help="More pairs if an encounter of a knockout is tied.  [default: 2]",
)
@click.option(
    "--double",
    cls=RichOption,
    panel="Matches",
    is_flag=True,
    default=None,
    help="In a knockout, a bot is out after two defeats.",
)
@click.option(
    "--third-place",
    cls=RichOption,
    panel="Matches",
    is_flag=True,
    default=None,
    help="In a knockout, the losers of the semifinals play for third place.",
)
@click.option(
    "--seeding",
    cls=RichOption,
    panel="Matches",
    type=click.Choice(["given", "leaderboard"]),
    help="Seeding of a swiss or knockout: as named, or by rating.  [default: given]",
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
@run_options
def tournament(options: RunOptions, *, config: Path | None, dry_run: bool, tui: bool, **given: object) -> int:
    """Run a tournament between all BOTs, written name@version:option=value,option=value.

    Every match is stored; the run can be stopped at any moment and continued with: arena resume
    """
    return _hold(given, options, config, dry_run=dry_run, tui=tui)


@click.command(cls=RichCommand)
@click.argument("bots", nargs=-1, metavar="A B")
@encounter_options
@run_options
def match(options: RunOptions, *, config: Path | None, dry_run: bool, tui: bool, **given: object) -> int:
    """Play two bots against each other and report which one is stronger.

    With --sprt it is a sequential test of A, which ends as soon as it is decided: see arena test.
    """
    if given["sprt"] is not None and given["rounds"] is not None:
        raise click.UsageError("--rounds does not go with --sprt: a test ends by itself; --pairs N bounds it")
    return _hold({**given, "type": "match"}, options, config, dry_run=dry_run, tui=tui)


@click.command(cls=RichCommand)
@click.argument("bots", nargs=-1, metavar="NEW [OLD]")
@sprt_options
@run_options
def test(options: RunOptions, *, config: Path | None, dry_run: bool, tui: bool, **given: object) -> int:
    """Test whether NEW is stronger than OLD (default: the version of NEW that was kept or tested last).

    Pairs are played until a sequential test decides: exit 0 if NEW is stronger, 10 if that is not shown, 11
    if the openings run out. Both bots are kept as they are now. The matches of the test are not rated, since
    a test stops when a bot is ahead; the 32 pairs after the test are.

    30 normalized Elo are 28 Elo at 11 % draws, 24 if openings favour a side, 21 at 50 % draws.
    """
    from arena.coordinator.config import THEN_RATE

    then_rate = 0 if given["rated"] else THEN_RATE
    defaults = {"sprt": "gain", "then-rate": then_rate}
    return _hold({**given, "type": "match"}, options, config, dry_run=dry_run, tui=tui, defaults=defaults)


def _hold(  # noqa: PLR0913 - options, and what to do with them
    given: Mapping[str, object],
    options: RunOptions,
    config: Path | None,
    *,
    dry_run: bool,
    tui: bool,
    defaults: Mapping[str, object] | None = None,
) -> int:
    from arena.cli.configuration import configuration

    settings = configuration(given, config, defaults or {})
    if tui and not dry_run:
        from arena.cli.attached import hold_and_watch

        return hold_and_watch(options.db)
    from arena.cli.session import hold_new

    return hold_new(settings, options, dry_run=dry_run)

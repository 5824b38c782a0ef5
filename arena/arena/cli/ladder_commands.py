"""`arena ladder`: an event that bots join and leave while it is run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich_click import RichCommand, RichGroup, RichOption

from arena.cli.options import db_option, event_options, format_option, run_options
from arena.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from arena.cli.options import RunOptions

_AGAIN = ("concurrency", "force_concurrency", "max_time", "executor", "keys", "cluster")
"""Options of a run that continues a stored ladder."""


@click.group(cls=RichGroup)
def ladder() -> None:
    """Run a ladder: bots of similar strength meet, without end or until all ratings are precise enough."""


@ladder.command(cls=RichCommand)
@click.argument("name")
@click.argument("bots", nargs=-1, metavar="[BOT]...")
@click.option(
    "--until",
    cls=RichOption,
    panel="Ends",
    metavar="error=E",
    help="Play until every rating is within E Elo.  [default: without end]",
)
@click.option(
    "--anchor",
    "anchors",
    cls=RichOption,
    panel="Matches",
    multiple=True,
    metavar="BOT=ELO",
    help="A bot of known strength; ratings are relative to the first anchor in a table.",
)
@event_options
@run_options
def run(  # noqa: PLR0913 - what this command has beyond the options of events
    options: RunOptions,
    *,
    name: str,
    bots: tuple[str, ...],
    until: str | None,
    config: Path | None,
    dry_run: bool,
    tui: bool,
    **given: object,
) -> int:
    """Begin the ladder NAME with some BOTs, or continue it; arena stop NAME stops it.

    Other bots join and leave at any time: arena ladder join, arena ladder leave
    """
    from arena.cli.attached import hold_and_watch
    from arena.cli.configuration import configuration
    from arena.cli.session import hold_again, hold_new
    from arena.coordinator.prepare import Again

    if bots:
        own = {"type": "ladder", "name": name, "bots": bots, "stop_when": until}
        settings = configuration({**given, **own}, config, {})
        if not tui or dry_run:
            return hold_new(settings, options, dry_run=dry_run)
        return hold_and_watch(options.db)
    others = {**given, "until": until, "config": config, "dry_run": dry_run or None}
    changed = [key for key, value in others.items() if key not in _AGAIN and value not in {None, ()}]
    if changed:
        option = f"--{changed[0].removesuffix('s') if changed[0] == 'anchors' else changed[0]}".replace(
            "_", "-"
        )
        raise ConfigError(
            f"{option} is for a new ladder; name its bots: arena ladder run {name} BOT BOT {option}"
        )
    _check_ladder(options.db, name)
    if tui:
        return hold_and_watch(options.db)
    again: dict[str, object] = {key: given[key] for key in _AGAIN}
    return hold_again(name, options, Again.of_options(again))


@ladder.command(cls=RichCommand)
@click.argument("name")
@click.argument("bot")
@click.option("--reason", default="", metavar="TEXT", help="Why; stored with the change.")
@db_option
def join(name: str, bot: str, *, reason: str, db: str | None) -> None:
    """Enter BOT in the ladder NAME, from any shell, while it is run or not.

    Its content is kept as it is now. Changed code is another bot and needs a name of its own.
    """
    from arena.cli.entrants_commands import enter
    from arena.coordinator.joining import find_open_ladder
    from arena.home import open_store

    with open_store(db, create=False) as store:
        enter(store, find_open_ladder(store, name), bot, reason)


@ladder.command(cls=RichCommand)
@click.argument("name")
@click.argument("bot")
@click.option("--reason", default="", metavar="TEXT", help="Why; stored with the change.")
@db_option
def leave(name: str, bot: str, *, reason: str, db: str | None) -> None:
    """Withdraw BOT from the ladder NAME; it keeps its matches and its rating, and can join again."""
    from arena.cli.entrants_commands import let_go
    from arena.coordinator.joining import find_open_ladder
    from arena.home import open_store

    with open_store(db, create=False) as store:
        let_go(store, find_open_ladder(store, name), bot, reason)


@ladder.command(cls=RichCommand)
@click.argument("name")
@db_option
@format_option
def status(name: str, *, db: str | None, form: str) -> None:
    """Show which bots play in the ladder NAME, how precise the ratings are, and the table."""
    from arena.cli.output import say
    from arena.cli.standings import print_standings
    from arena.coordinator.joining import find_ladder, ladder_status
    from arena.home import open_store
    from arena.results.rating_tables import standings

    with open_store(db, read_only=True) as store:
        record = find_ladder(store, name)
        tables = standings(store, record)
        found = ladder_status(store, record, tables)
    if form == "table":
        for line in str(found).splitlines():
            say(line)
    print_standings(tables, form, ladder=record.name)


def _check_ladder(db: str | None, name: str) -> None:
    """Check that the name is that of a ladder.

    Raises:
        NotFoundError: there is no such tournament.
        ConfigError: it is of another type.
    """
    from arena.coordinator.joining import find_ladder
    from arena.home import open_store

    with open_store(db, read_only=True) as store:
        find_ladder(store, name)

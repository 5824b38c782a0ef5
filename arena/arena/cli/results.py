"""`arena leaderboard` and `arena crosstable`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich_click import RichCommand

from arena.cli.filters import check_names, table_options
from arena.cli.options import db_option, format_option
from arena.errors import ConfigError, NotFoundError

if TYPE_CHECKING:
    from arena.results.condition import Condition

_MAX_ELO = 100_000.0


@click.command(cls=RichCommand)
@table_options
@click.option("--refit", is_flag=True, help="Rate only the matches of --bot and --vs, not those of all bots.")
@click.option("--anchor", metavar="BOT=ELO", help="Give this bot this rating; all others are relative to it.")
@click.option(
    "--bootstrap",
    type=click.IntRange(1),
    metavar="N",
    help="Intervals from drawing openings again N times, too.",
)
@format_option
@db_option
def leaderboard(  # noqa: PLR0913 - one parameter an option
    condition: Condition,
    *,
    refit: bool,
    anchor: str | None,
    bootstrap: int | None,
    form: str,
    db: str | None,
) -> None:
    """Rate the bots of one game over all stored tournaments.

    Bots are compared within a pool: matches under one limit, run in one way. --bot shows some rows of the
    whole table; with --refit only the matches of these bots are rated.
    """
    from arena.cli.output import say
    from arena.cli.standings import print_standings
    from arena.home import open_store
    from arena.results.leaderboards import rate
    from arena.results.views import ALL

    fixed = parse_anchor(anchor)
    with open_store(db, read_only=True) as store:
        found = rate(store, condition, refit=refit, anchor=fixed, num_samples=bootstrap)
        if found is None:
            check_names(store, condition)
            raise NotFoundError("no stored match fits; arena games --unrated shows what there is")
    if form == "table":
        is_mixed = found.pool == ALL
        mixed = " (mixes pools: these ratings compare bots under different limits)" if is_mixed else ""
        say(f"{found.game}, {found.pool}{mixed}")
    print_standings(found.tables, form, num_other_pools=len(found.others))
    if form == "table":
        shown = sum(len(table.rows) for table in found.tables)
        num_bots = sum(table.num_bots for table in found.tables)
        if shown < num_bots:
            say(f"{shown} of {num_bots} bots are shown; ranks and ratings are those of the whole table.")
        if found.others:
            others = [f"{name} ({pool}, {number} matches)" for name, pool, number in found.others]
            say(f"Other pools (--game, --pool): {'; '.join(others)}")


@click.command(cls=RichCommand)
@click.argument("tournament", required=False, metavar="[ADDRESS]")
@format_option
@db_option
def crosstable(tournament: str | None, *, form: str, db: str | None) -> None:
    """Show how every bot of a tournament did against every other (default: the last tournament)."""
    from arena.cli.output import say
    from arena.cli.standings import print_crosstable
    from arena.home import open_store
    from arena.naming import count_text
    from arena.results import crosstable as cross
    from arena.results import views
    from arena.results.addresses import find_event

    with open_store(db, read_only=True) as store:
        record = find_event(store, tournament, unfinished=False)
        order = [row.name for table in views.standings(store, record) for row in table.rows]
        if form == "table":
            done = count_text(record.num_done, record.num_total)
            say(f"{record.name}  {record.game}  {done} matches")
        print_crosstable(cross.crosstable(store, record, order), form)


def parse_anchor(text: str | None) -> tuple[str, float] | None:
    """Read `BOT=ELO`; a bot's spec may hold `=` itself, so the last one splits.

    Raises:
        ConfigError: it is not of that form.
    """
    if text is None:
        return None
    name, _, number = text.rpartition("=")
    try:
        elo = float(number)
    except ValueError:
        elo = float("nan")
    if not name or not -_MAX_ELO <= elo <= _MAX_ELO:
        raise ConfigError(f"--anchor {text} cannot be read; write BOT=ELO, as random=1000")
    return name, elo

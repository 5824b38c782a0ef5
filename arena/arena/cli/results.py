"""`arena leaderboard` and `arena crosstable`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich_click import RichCommand

from arena.cli.filters import table_options
from arena.cli.options import db_option, format_option
from arena.errors import NotFoundError

if TYPE_CHECKING:
    from arena.results.condition import Condition


@click.command(cls=RichCommand)
@table_options
@click.option("--refit", is_flag=True, help="Rate only the matches of --bot and --vs, not those of all bots.")
@click.option(
    "--anchor", metavar="BOT=ELO", help="Set the rating of this bot; all others are relative to it."
)
@click.option(
    "--bootstrap",
    type=click.IntRange(1),
    metavar="N",
    help="Add intervals from N bootstrap samples of the openings.",
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
    """Rate the bots of one game over all stored tournaments; with --tournament alone, show its standings.

    Bots are compared within a pool: matches with the same limit and kind of run. --bot shows only some rows
    of the whole table; with --refit only the matches of these bots are rated.
    """
    from arena.cli.output import say
    from arena.cli.standings import print_standings
    from arena.coordinator.config import parse_anchor
    from arena.home import open_store
    from arena.results.absence import check_names
    from arena.results.leaderboards import rate
    from arena.results.rating_tables import ALL

    fixed = None if anchor is None else parse_anchor(anchor)
    with open_store(db, read_only=True) as store:
        found = rate(store, condition, refit=refit, anchor=fixed, num_samples=bootstrap)
        if found is None:
            check_names(store, condition)
            raise NotFoundError("no stored match fits; arena matches --unrated shows what there is")
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
@click.option(
    "--tie-breaks",
    is_flag=True,
    help="Order by place: points, then tie-breaks; JSON and CSV contain only the table by place.",
)
@format_option
@db_option
def crosstable(tournament: str | None, *, tie_breaks: bool, form: str, db: str | None) -> None:
    """Show the score of every bot of a tournament against every other (default: the last tournament).

    Bots are ordered by rating. With --tie-breaks they are ordered by points, then by Buchholz, Buchholz
    without the lowest opponent (cut 1), without lowest and highest (median), Sonneborn-Berger, direct
    encounter and wins, and a second table shows these.
    """
    from arena.cli.output import say
    from arena.cli.standings import print_crosstable, print_places
    from arena.coordinator.event_tables import place_rows_of
    from arena.home import open_store
    from arena.naming import count_text
    from arena.results import crosstable as cross
    from arena.results import rating_tables
    from arena.results.addresses import find_event

    with open_store(db, read_only=True) as store:
        record = find_event(store, tournament, unfinished=False)
        places = place_rows_of(store, record) if tie_breaks else []
        if form == "table":
            done = count_text(record.num_done, record.num_total)
            say(f"{record.name}  {record.game}  {done} matches")
        if form == "table" or not tie_breaks:
            rated = (row.name for table in rating_tables.standings(store, record) for row in table.rows)
            order = [row.name for row in places] if tie_breaks else [*rated]
            print_crosstable(cross.crosstable(store, record, order), form)
        if tie_breaks:
            print_places(places, form)

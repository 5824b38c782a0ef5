"""`arena leaderboard` and `arena crosstable`."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import click
from rich_click import RichCommand

from arena.cli.exits import NotFoundError
from arena.cli.filters import check_names, filter_options
from arena.cli.options import db_option, format_option
from arena.errors import ConfigError

if TYPE_CHECKING:
    from arena_db.records import MatchFilter

_MAX_ELO = 100_000.0


@click.command(cls=RichCommand)
@filter_options
@click.option(
    "--pool", metavar="NAME", help="The pool to rate, or all.  [default: the one with most matches]"
)
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
    where: MatchFilter,
    *,
    pool: str | None,
    anchor: str | None,
    bootstrap: int | None,
    form: str,
    db: str | None,
) -> None:
    """Rate the bots of one game over all stored tournaments.

    Bots are compared within a pool: matches under one limit, run in one way.
    """
    from arena.cli.output import say
    from arena.cli.standings import print_standings
    from arena.home import open_store
    from arena.results import views
    from arena.results.book import RatedMatches

    fixed = parse_anchor(anchor)
    with open_store(db, read_only=True) as store:
        tallies = store.tallies(where)
        pools = views.pools([tally for tally in tallies if tally.first != tally.second])
        if not pools:
            check_names(store, where)
            raise NotFoundError("no stored match fits; arena games --unrated shows what there is")
        game, chosen = views.choose_pool(pools, pool)
        drawn = dataclasses.replace(where, game=game, pool=where.pool if chosen == views.ALL else chosen)
        book = RatedMatches(drawn)
        book.update(store)
        board = views.Leaderboard(tallies, store.bots(), game, chosen, book, store.labels())
        tables = board.tables(fixed, num_samples=bootstrap)
    if form == "table":
        mixed = (
            " (mixes pools: these ratings compare bots under different limits)" if chosen == views.ALL else ""
        )
        say(f"{game}, {chosen}{mixed}")
    print_standings(tables, form)
    others = [
        f"{name} ({other}, {number} matches)"
        for name, other, number in pools
        if (name, other) != (game, chosen) and (name != game or chosen != views.ALL)
    ]
    if form == "table" and others:
        say(f"Other pools (--game, --pool): {'; '.join(others)}")


@click.command(cls=RichCommand)
@click.argument("tournament", required=False, metavar="[ID]")
@format_option
@db_option
def crosstable(tournament: str | None, *, form: str, db: str | None) -> None:
    """Show how every bot of a tournament did against every other (default: the last tournament)."""
    from arena.cli.output import say
    from arena.cli.standings import print_crosstable
    from arena.cli.stored import find_tournament
    from arena.home import open_store
    from arena.results import crosstable as cross
    from arena.results import views

    with open_store(db, read_only=True) as store:
        record = find_tournament(store, tournament, unfinished=False)
        order = [row.name for table in views.standings(store, record) for row in table.rows]
        if form == "table":
            say(f"{record.name}  {record.game}  {record.num_done}/{record.num_planned} matches")
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

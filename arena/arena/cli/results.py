"""`arena leaderboard` and `arena crosstable`."""

from __future__ import annotations

from typing import Any

import click

from arena.cli.filters import filter_options, match_filter
from arena.cli.options import db_option, format_option
from arena.errors import ConfigError


@click.command()
@filter_options
@click.option(
    "--pool", metavar="NAME", help="The pool to rate, or all.  [default: the one with most matches]"
)
@click.option("--anchor", metavar="BOT=ELO", help="Give this bot this rating; all others are relative to it.")
@format_option
@db_option
def leaderboard(pool: str | None, anchor: str | None, form: str, db: str | None, **given: Any) -> None:
    """Rate the bots of one game over all stored tournaments.

    Bots are compared within a pool: matches under one limit, run in one way.
    """
    import dataclasses

    from arena.cli.standings import print_standings
    from arena.home import open_store
    from arena.leaderboard import views

    where = match_filter(given)
    with open_store(db, read_only=True) as store:
        pools = views.pools(store, where)
        if not pools:
            raise ConfigError("no stored match fits; arena games --unrated shows what there is")
        game, chosen = choose_pool(pools, where.game, pool)
        tables = views.leaderboard(
            store, dataclasses.replace(where, game=game), chosen, anchor=parse_anchor(anchor)
        )
    if form == "table":
        mixed = " (mixes pools: these ratings compare bots under different limits)" if chosen == "all" else ""
        click.echo(f"{game}, {chosen}{mixed}")
    print_standings(tables, form)
    others = [
        f"{name} ({other}, {number} matches)"
        for name, other, number in pools
        if (name, other) != (game, chosen)
    ]
    if form == "table" and others and chosen != "all":
        click.echo(f"Other pools (--game, --pool): {'; '.join(others)}")


@click.command()
@click.argument("tournament", required=False, metavar="[ID]")
@format_option
@db_option
def crosstable(tournament: str | None, form: str, db: str | None) -> None:
    """Show how every bot of a tournament did against every other (default: the last tournament)."""
    from arena.cli.session import find_tournament
    from arena.cli.standings import print_crosstable
    from arena.home import open_store
    from arena.leaderboard import crosstable as cross
    from arena.leaderboard import views

    with open_store(db, read_only=True) as store:
        record = find_tournament(store, tournament, unfinished=False)
        tables = views.standings(store, record.name)
        order = tuple(row.name for table in tables for row in table.rows)
        if form == "table":
            click.echo(f"{record.name}  {record.game}  {record.num_done}/{record.num_planned} matches")
        print_crosstable(cross.crosstable(store, record.name, order), form)


def choose_pool(pools: list[tuple[str, str, int]], game: str | None, pool: str | None) -> tuple[str, str]:
    """Choose game and pool: what was asked for, else the one with most matches."""
    if pool == "all":
        return game or pools[0][0], "all"
    fitting = [(name, other) for name, other, _ in pools if pool in (None, other)]
    if not fitting:
        raise ConfigError(f'no pool "{pool}"; there are: {"; ".join(other for _, other, _ in pools)}')
    return fitting[0]


def parse_anchor(text: str | None) -> tuple[str, float] | None:
    """Read `BOT=ELO`; a bot's spec may hold `=` itself, so the last one splits."""
    if text is None:
        return None
    name, _, elo = text.rpartition("=")
    try:
        return name, float(elo)
    except ValueError as error:
        raise ConfigError(f"--anchor {text} cannot be read; write BOT=ELO, as random=1000") from error

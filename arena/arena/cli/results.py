"""`arena leaderboard` and `crosstable`, and `arena void` and `unvoid`, which change the counted matches."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click
from rich_click import RichCommand

from arena.cli.filters import table_options
from arena.cli.options import as_one, db_option, format_option
from arena.errors import ConfigError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from arena.results.condition import Condition
    from arena_db.store import Store


class _RatingOptions(NamedTuple):
    """The rating options of `arena leaderboard`."""

    refit: bool
    anchor: str | None
    bootstrap: int | None


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
@as_one("rating", _RatingOptions)
def leaderboard(condition: Condition, *, rating: _RatingOptions, form: str, db: str | None) -> None:
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

    fixed = None if rating.anchor is None else parse_anchor(rating.anchor)
    with open_store(db, read_only=True) as store:
        found = rate(store, condition, refit=rating.refit, anchor=fixed, num_samples=rating.bootstrap)
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


_MOST_NAMED = 5
"""Maximum number of tournaments that a message names."""


class _Named(NamedTuple):
    """The arguments that choose matches: addresses, or a bot of a tournament."""

    addresses: tuple[str, ...]
    tournament: str | None
    bot: str | None


def _match_arguments(command: Callable[..., None]) -> Callable[..., None]:
    """Add --reason, and the arguments that choose matches, which the command receives as `named`."""
    command = as_one("named", _Named)(command)
    for add in (
        db_option,
        click.option("--reason", required=True, metavar="TEXT", help="Why; shown with each match."),
        click.option("--bot", metavar="BOT", help="With --tournament: all matches of this bot."),
        click.option("--tournament", metavar="ID", help="Matches of this tournament; needs --bot."),
        click.argument("addresses", nargs=-1, metavar="[MATCH]..."),
    ):
        command = add(command)
    return command


@click.command(cls=RichCommand)
@_match_arguments
def void(named: _Named, *, reason: str, db: str | None) -> None:
    """Declare matches void, so that no table counts them: MATCH spring/89 ..., or all matches of a bot.

    Void matches stay stored, are shown with the reason, and are not played again. arena unvoid undoes it. The
    tournament may be running meanwhile; its later matches count.
    """
    _declare(named, reason, db, undo=False)


@click.command(cls=RichCommand)
@_match_arguments
def unvoid(named: _Named, *, reason: str, db: str | None) -> None:
    """Count void matches again, as if they had never been void; they are chosen as for arena void."""
    _declare(named, reason, db, undo=True)


def _declare(named: _Named, reason: str, db: str | None, *, undo: bool) -> None:
    from arena.cli.output import say
    from arena.coordinator.replaying import keep_replays
    from arena.home import open_store
    from arena.results.corrections import declare_void

    _check(named, reason)
    with open_store(db, create=False) as store:
        if named.tournament is not None:
            chosen = _matches_of(store, named.tournament, named.bot)
        else:
            chosen = _addressed(store, named.addresses)
        num = declare_void(store, chosen.tournaments, chosen.numbers, reason, undo=undo)
        rest = len(chosen.numbers) - num
        for number in chosen.tournaments if num else ():
            keep_replays(store, number)
    counts = "count again" if undo else "are void: no table counts them; arena unvoid undoes this"
    if num == 1:
        counts = "counts again" if undo else "is void: no table counts it; arena unvoid undoes this"
    if num:
        say(f"{num} match{'' if num == 1 else 'es'} of {chosen.where} {counts}")
    if rest:
        say(f"{rest} of the chosen matches {'counted' if undo else 'were void'} before", err=True)


def _check(named: _Named, reason: str) -> None:
    """Check that the arguments choose matches, in one way only.

    Raises:
        ConfigError: no match is chosen, matches are chosen in both ways, or the reason is empty.
    """
    if not reason.strip():
        raise ConfigError("--reason is empty; say why, for everybody who looks at it later")
    addresses, tournament, bot = named
    if addresses and (tournament is not None or bot is not None):
        raise ConfigError("give addresses of matches, or --tournament with --bot, not both")
    if not addresses and (tournament is None or bot is None):
        raise ConfigError(
            "no match is named; give addresses, as in arena void spring/89 --reason TEXT, or --tournament ID "
            "--bot BOT for all matches of a bot"
        )


class _Chosen(NamedTuple):
    """The matches that the arguments choose."""

    where: str
    """Name of the tournament or bot that the matches belong to, for messages."""
    tournaments: Collection[int]
    """Ids of the tournaments of the matches."""
    numbers: Collection[int]
    """Ids of the matches, each once."""


def _matches_of(store: Store, tournament: str, bot: str | None) -> _Chosen:
    """Return the matches of a bot in a tournament."""
    from arena.results.addresses import find_entrants, find_tournament

    record = find_tournament(store, tournament, unfinished=False)
    found = find_entrants(store, record, bot)
    labels = ", ".join(entrant.label for entrant in found)
    numbers = store.matches.ids_of_seats(record.id, [entrant.seat for entrant in found])
    if not numbers:
        raise NotFoundError(f"{labels} has no stored match in {record.name}")
    return _Chosen(f"{labels} in {record.name}", [record.id], numbers)


def _addressed(store: Store, addresses: tuple[str, ...]) -> _Chosen:
    """Return the matches with these addresses."""
    from arena.results.addresses import find_played

    found = [find_played(store, address) for address in addresses]
    names = list(dict.fromkeys(address.tournament.name for _, address in found))
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    tournaments = dict.fromkeys(address.tournament.id for _, address in found)
    numbers = {match.id for match, _ in found}
    return _Chosen(f"{', '.join(names[:_MOST_NAMED])}{more}", tournaments, numbers)

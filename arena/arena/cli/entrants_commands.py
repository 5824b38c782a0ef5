"""`arena ladder`, a tournament that bots join and leave, and `arena entrants`, which changes its bots."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich_click import RichCommand, RichGroup, RichOption

from arena.cli.options import db_option, event_options, format_option, run_options
from arena.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.cli.options import RunOptions, StartOptions
    from arena_db.records import TournamentRecord
    from arena_db.store import Store


@click.group(cls=RichGroup)
def entrants() -> None:
    """Add bots to a tournament, withdraw or disqualify them, whether it is running or not."""


def _entrant_arguments(command: Callable[..., None]) -> Callable[..., None]:
    """Add the arguments that choose a bot of a tournament, and the reason."""
    for add in (
        db_option,
        click.option("--reason", required=True, metavar="TEXT", help="Why; kept with the change."),
        click.argument("bot"),
        click.argument("name"),
    ):
        command = add(command)
    return command


@entrants.command(cls=RichCommand)
@_entrant_arguments
def add(name: str, bot: str, *, reason: str, db: str | None) -> None:
    """Enter BOT in the tournament NAME; its content is kept as it is now.

    A ladder and a Swiss tournament pair it from now on; in a round robin or a gauntlet its encounters are
    added to the plan. A knockout and a match accept no more bots.
    """
    from arena.coordinator.joining import find_open_event
    from arena.home import open_store

    with open_store(db, create=False) as store:
        _enter(store, find_open_event(store, name), bot, reason)


@entrants.command(cls=RichCommand)
@_entrant_arguments
def withdraw(name: str, bot: str, *, reason: str, db: str | None) -> None:
    """Withdraw BOT from the tournament NAME: it plays no more matches, and those it played count.

    Its planned matches that have not begun are dropped. In a Swiss tournament and a knockout they are
    walkovers.
    """
    from arena.coordinator.joining import find_open_event
    from arena.home import open_store

    with open_store(db, create=False) as store:
        _let_go(store, find_open_event(store, name), bot, reason)


@entrants.command(cls=RichCommand)
@_entrant_arguments
def disqualify(name: str, bot: str, *, reason: str, db: str | None) -> None:
    """Disqualify BOT from the tournament NAME: it plays no more matches, and all its matches are void.

    The matches stay stored, are shown with the reason, and are walkovers for its opponents in a Swiss
    tournament and a knockout. arena unvoid makes them count again.
    """
    from arena.cli.output import say
    from arena.coordinator import joining
    from arena.home import open_store

    with open_store(db, create=False) as store:
        record = joining.find_open_event(store, name)
        for entrant, num in joining.disqualify(store, record, bot, reason=reason):
            matches = "its match is" if num == 1 else f"its {num} matches are"
            say(f"{entrant.label} is disqualified from {record.name}; {matches} void")
        _tell_next(store, record)


def _enter(store: Store, event: TournamentRecord, bot: str, reason: str) -> None:
    """Check a bot, enter it in a tournament and print the result."""
    from arena.cli.failures import print_failure
    from arena.cli.output import say
    from arena.coordinator import joining
    from arena.coordinator.joining import answer_to_join
    from arena.coordinator.prepare import check_bots

    plan = joining.plan_join(store, event, bot)
    check_bots(plan, show=print_failure)
    entered = joining.join(store, event, plan, reason=reason)
    if event.type == "ladder":
        when = answer_to_join(store, event, entered)
    else:
        when = "it plays from now on" if _is_run(store, event) else f"arena resume {event.name} lets it play"
    say(f"{entered.label} joined {event.name}; {when}")


def _let_go(store: Store, event: TournamentRecord, bot: str, reason: str) -> None:
    """Withdraw a bot from a tournament and print the result."""
    from arena.cli.output import say
    from arena.coordinator import joining
    from arena.coordinator.joining import answer_to_leave

    gone = joining.leave(store, event, bot, reason=reason)
    for entrant in gone:
        say(f"{entrant.label} left {event.name}; what it played counts, what was planned for it is dropped")
    if event.type == "ladder":
        say(answer_to_leave(store, event))
    _tell_next(store, event)


def _tell_next(store: Store, event: TournamentRecord) -> None:
    """Print the next step if a tournament needs a coordinator to continue."""
    from arena.cli.output import say

    now = store.tournaments.find(event.id)
    if event.type != "ladder" and now is not None and not now.is_complete and not _is_run(store, event):
        say(f"arena resume {event.name} plays on with the others")


def _is_run(store: Store, event: TournamentRecord) -> bool:
    lease = store.leases.find(event.id)
    return lease is not None and lease.is_alive


_AGAIN = ("concurrency", "force_concurrency", "max_time", "executor", "keys", "cluster")
"""Options that may be given to continue a stored ladder."""


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
def run(
    options: RunOptions,
    *,
    name: str,
    bots: tuple[str, ...],
    until: str | None,
    start: StartOptions,
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
        settings = configuration({**given, **own}, start.config, {})
        if not start.tui or start.dry_run:
            return hold_new(settings, options, dry_run=start.dry_run)
        return hold_and_watch(options.db)
    others = {**given, "until": until, "config": start.config, "dry_run": start.dry_run or None}
    changed = [key for key, value in others.items() if key not in _AGAIN and value not in {None, ()}]
    if changed:
        option = f"--{changed[0].removesuffix('s') if changed[0] == 'anchors' else changed[0]}".replace(
            "_", "-"
        )
        raise ConfigError(
            f"{option} is for a new ladder; name its bots: arena ladder run {name} BOT BOT {option}"
        )
    _check_ladder(options.db, name)
    if start.tui:
        return hold_and_watch(options.db)
    again: dict[str, object] = {key: given[key] for key in _AGAIN}
    return hold_again(name, options, Again.of_options(again))


@ladder.command(cls=RichCommand)
@click.argument("name")
@click.argument("bot")
@click.option("--reason", default="", metavar="TEXT", help="Why; stored with the change.")
@db_option
def join(name: str, bot: str, *, reason: str, db: str | None) -> None:
    """Enter BOT in the ladder NAME, from any shell, whether it is running or not.

    Its content is kept as it is now. Changed code is another bot and needs a name of its own.
    """
    from arena.coordinator.joining import find_open_ladder
    from arena.home import open_store

    with open_store(db, create=False) as store:
        _enter(store, find_open_ladder(store, name), bot, reason)


@ladder.command(cls=RichCommand)
@click.argument("name")
@click.argument("bot")
@click.option("--reason", default="", metavar="TEXT", help="Why; stored with the change.")
@db_option
def leave(name: str, bot: str, *, reason: str, db: str | None) -> None:
    """Withdraw BOT from the ladder NAME; it keeps its matches and its rating, and can join again."""
    from arena.coordinator.joining import find_open_ladder
    from arena.home import open_store

    with open_store(db, create=False) as store:
        _let_go(store, find_open_ladder(store, name), bot, reason)


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
        ConfigError: the tournament is of another type.
    """
    from arena.coordinator.joining import find_ladder
    from arena.home import open_store

    with open_store(db, read_only=True) as store:
        find_ladder(store, name)

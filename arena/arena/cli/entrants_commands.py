"""`arena entrants`: change who takes part in an event, while it is run or afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich_click import RichCommand, RichGroup

from arena.cli.options import db_option

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena_db.records import TournamentRecord
    from arena_db.store import Store


@click.group(cls=RichGroup)
def entrants() -> None:
    """Add bots to an event, withdraw or disqualify them, while it is run or not."""


def _entrant_arguments(command: Callable[..., None]) -> Callable[..., None]:
    """Add the arguments that choose a bot of an event, and the reason."""
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
    """Enter BOT in the event NAME; its content is kept as it is now.

    A ladder and a Swiss tournament pair it from now on; in a round robin or a gauntlet its encounters are
    added to the plan. A knockout and a match accept no more bots.
    """
    from arena.coordinator.joining import find_open_event
    from arena.home import open_store

    with open_store(db, create=False) as store:
        enter(store, find_open_event(store, name), bot, reason)


@entrants.command(cls=RichCommand)
@_entrant_arguments
def withdraw(name: str, bot: str, *, reason: str, db: str | None) -> None:
    """Withdraw BOT from the event NAME: it plays no more matches, and those it played count.

    Its planned matches that have not begun are dropped. In a Swiss tournament and a knockout they are
    walkovers.
    """
    from arena.coordinator.joining import find_open_event
    from arena.home import open_store

    with open_store(db, create=False) as store:
        let_go(store, find_open_event(store, name), bot, reason)


@entrants.command(cls=RichCommand)
@_entrant_arguments
def disqualify(name: str, bot: str, *, reason: str, db: str | None) -> None:
    """Disqualify BOT from the event NAME: it plays no more matches, and all its matches are void.

    They stay stored, are shown with the reason, and are walkovers for its opponents in a Swiss tournament and
    a knockout. arena unvoid makes them count again.
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


def enter(store: Store, event: TournamentRecord, bot: str, reason: str) -> None:
    """Check a bot, enter it in an event and print the result."""
    from arena.cli.failures import print_failure
    from arena.cli.output import say
    from arena.coordinator import joining
    from arena.coordinator.ladder_answers import answer_to_join
    from arena.coordinator.prepare import check_bots

    plan = joining.plan_join(store, event, bot)
    check_bots(plan, show=print_failure)
    entered = joining.join(store, event, plan, reason=reason)
    if event.type == "ladder":
        when = answer_to_join(store, event, entered)
    else:
        when = "it plays from now on" if _is_run(store, event) else f"arena resume {event.name} lets it play"
    say(f"{entered.label} joined {event.name}; {when}")


def let_go(store: Store, event: TournamentRecord, bot: str, reason: str) -> None:
    """Withdraw a bot from an event and print the result."""
    from arena.cli.output import say
    from arena.coordinator import joining
    from arena.coordinator.ladder_answers import answer_to_leave

    gone = joining.leave(store, event, bot, reason=reason)
    for entrant in gone:
        say(f"{entrant.label} left {event.name}; what it played counts, what was planned for it is dropped")
    if event.type == "ladder":
        say(answer_to_leave(store, event))
    _tell_next(store, event)


def _tell_next(store: Store, event: TournamentRecord) -> None:
    """Print the next step if an event needs a coordinator to go on."""
    from arena.cli.output import say

    now = store.tournament(event.id)
    if event.type != "ladder" and now is not None and not now.is_complete and not _is_run(store, event):
        say(f"arena resume {event.name} plays on with the others")


def _is_run(store: Store, event: TournamentRecord) -> bool:
    lease = store.lease(event.id)
    return lease is not None and lease.is_alive

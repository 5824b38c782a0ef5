"""`arena void` and `unvoid`: exclude matches from all tables, and count them again."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click
from rich_click import RichCommand

from arena.cli.options import db_option
from arena.errors import ConfigError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from arena_db.store import Store

_MOST_NAMED = 5
"""Maximum number of tournaments that a message names."""


def _match_arguments(command: Callable[..., None]) -> Callable[..., None]:
    """Add the arguments and options that choose matches, and the reason."""
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
def void(
    addresses: tuple[str, ...], *, tournament: str | None, bot: str | None, reason: str, db: str | None
) -> None:
    """Declare matches void, so that no table counts them: MATCH spring/89 ..., or all matches of a bot.

    Void matches stay stored, are shown with the reason, and are not played again. arena unvoid undoes it. The
    tournament may be running meanwhile; its later matches count.
    """
    _declare(addresses, tournament, bot, reason, db, undo=False)


@click.command(cls=RichCommand)
@_match_arguments
def unvoid(
    addresses: tuple[str, ...], *, tournament: str | None, bot: str | None, reason: str, db: str | None
) -> None:
    """Count void matches again, as if they had never been void; they are chosen as for arena void."""
    _declare(addresses, tournament, bot, reason, db, undo=True)


def _declare(  # noqa: PLR0913 - one parameter an option
    addresses: tuple[str, ...],
    tournament: str | None,
    bot: str | None,
    reason: str,
    db: str | None,
    *,
    undo: bool,
) -> None:
    from arena.cli.output import say
    from arena.coordinator.replaying import keep_replays
    from arena.home import open_store
    from arena.results.corrections import declare_void

    _check(addresses, tournament, bot, reason)
    with open_store(db, create=False) as store:
        if tournament is not None:
            chosen = _matches_of(store, tournament, bot)
        else:
            chosen = _addressed(store, addresses)
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


def _check(addresses: tuple[str, ...], tournament: str | None, bot: str | None, reason: str) -> None:
    """Check that the arguments choose matches, in one way only.

    Raises:
        ConfigError: no match is chosen, or in two ways, or the reason is empty.
    """
    if not reason.strip():
        raise ConfigError("--reason is empty; say why, for everybody who looks at it later")
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
    """The name of the tournament or bot they belong to, for messages."""
    tournaments: Collection[int]
    """Ids of their tournaments."""
    numbers: Collection[int]
    """Ids of the matches, each once."""


def _matches_of(store: Store, tournament: str, bot: str | None) -> _Chosen:
    """Return the matches of a bot in a tournament."""
    from arena.results.addresses import find_entrants, find_tournament

    record = find_tournament(store, tournament, unfinished=False)
    found = find_entrants(store, record, bot)
    labels = ", ".join(entrant.label for entrant in found)
    numbers = store.match_numbers(record.id, [entrant.seat for entrant in found])
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

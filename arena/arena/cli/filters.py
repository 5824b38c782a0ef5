"""Options that say which matches a query is about."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena_db.records import MatchFilter

_Command = TypeVar("_Command", bound="Callable[..., Any]")

_OPTIONS = (
    click.option("--game", metavar="SPEC", help="Only matches of this game."),
    click.option("--tournament", metavar="ID", help="Only matches of this tournament."),
    click.option("--bot", metavar="BOT", help="Only matches of this bot, by name, spec or label."),
    click.option("--vs", metavar="BOT", help="Only matches against this bot."),
    click.option(
        "--since",
        metavar="TIME",
        help="Only matches begun at or after this UTC time (2026-01-31 or 2026-01-31T12:00).",
    ),
    click.option("--until", metavar="TIME", help="Only matches begun before this UTC time."),
    click.option("--tc", metavar="POOL", help="Only matches under this limit, as written in the TC column."),
    click.option(
        "--termination",
        metavar="KIND",
        help="Only matches that ended like this: rules, time_move, crash, ...",
    ),
    click.option(
        "--min-tier",
        type=click.Choice(["T0", "T1", "T2", "T3"]),
        help="Only matches with at least this isolation.",
    ),
    click.option("--unrated", is_flag=True, help="Unrated and void matches, too."),
)


def filter_options(command: _Command) -> _Command:
    """Add the options that narrow a query."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def match_filter(given: dict[str, Any]) -> MatchFilter:
    """Make a filter of the options, taking them out of `given`.

    Raises:
        click.BadParameter: a time or a termination cannot be read.
        PluginError: the game is unknown.
    """
    from arena_db.records import MatchFilter
    from arena_plugins import Termination, game_spec, load_game

    termination = given.pop("termination")
    if termination is not None and termination not in list(Termination):
        raise click.BadParameter(
            f"{termination} is none of {', '.join(Termination)}", param_hint="--termination"
        )
    game = given.pop("game")
    return MatchFilter(
        game=None if game is None else game_spec(load_game(game)),
        tournament=given.pop("tournament"),
        bot=given.pop("bot"),
        vs=given.pop("vs"),
        since=_seconds(given.pop("since"), "--since"),
        until=_seconds(given.pop("until"), "--until"),
        pool=given.pop("tc"),
        termination=termination,
        min_tier=given.pop("min_tier"),
        rated_only=not given.pop("unrated"),
    )


def _seconds(text: str | None, option: str) -> float | None:
    if text is None:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise click.BadParameter(f"{text} is not a time like 2026-01-31T12:00", param_hint=option) from error
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()

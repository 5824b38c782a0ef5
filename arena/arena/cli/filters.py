"""Options that say which matches a query is about."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import wraps
from typing import TYPE_CHECKING, TypeVar

import click

from arena.cli.exits import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena_db.records import MatchFilter
    from arena_db.store import Store

_Result = TypeVar("_Result")

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
)


def filter_options(command: Callable[..., _Result]) -> Callable[..., _Result]:
    """Add the options that narrow a query; the command gets them as one filter, its first argument."""

    @wraps(command)
    def with_filter(  # noqa: PLR0913 - one parameter an option
        *,
        game: str | None,
        tournament: str | None,
        bot: str | None,
        vs: str | None,
        since: str | None,
        until: str | None,
        tc: str | None,
        termination: str | None,
        min_tier: str | None,
        **given: object,
    ) -> _Result:
        from arena_db.records import MatchFilter

        where = MatchFilter(
            game=_game(game),
            tournament=tournament,
            bot=bot,
            vs=vs,
            since=_seconds(since, "'--since'"),
            until=_seconds(until, "'--until'"),
            pool=tc,
            termination=_termination(termination),
            min_tier=min_tier,
        )
        return command(where, **given)

    wrapped: Callable[..., _Result] = with_filter
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


def check_names(store: Store, where: MatchFilter) -> None:
    """Look whether what an empty answer was asked about is there at all.

    Raises:
        NotFoundError: no such tournament or bot; names the nearest.
    """
    from arena_db.records import MatchFilter
    from arena_plugins.spec import nearest

    if where.tournament is not None and store.tournament(where.tournament) is None:
        known = [tournament.name for tournament in store.tournaments()]
        raise NotFoundError(f'no tournament "{where.tournament}"{nearest(where.tournament, known)}')
    for name in (where.bot, where.vs):
        if name is not None and not store.matches(MatchFilter(bot=name, rated_only=False), limit=1):
            bots = sorted({known for bot in store.bots().values() for known in (bot.name, bot.spec)})
            raise NotFoundError(f'no stored match of a bot "{name}"{nearest(name, bots)}')


def _game(text: str | None) -> str | None:
    if text is None:
        return None
    from arena_plugins import game_spec, load_game

    return game_spec(load_game(text))


def _termination(text: str | None) -> str | None:
    from arena_plugins import Termination
    from arena_plugins.spec import nearest

    if text is not None and text not in list(Termination):
        raise click.BadParameter(
            f"{text} is none of {', '.join(Termination)}{nearest(text, Termination)}",
            param_hint="'--termination'",
        )
    return text


def _seconds(text: str | None, option: str) -> float | None:
    if text is None:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise click.BadParameter(f"{text} is not a time like 2026-01-31T12:00", param_hint=option) from error
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()

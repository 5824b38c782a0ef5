"""Options that say which matches a query is about."""

from __future__ import annotations

import re
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
    click.option("--tournament", metavar="ID", help="Only matches of this tournament; * and ? are wild."),
    click.option(
        "--bot", metavar="BOT", help="Only matches of this bot, by name, spec or label; mcts* is any such."
    ),
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
_MATCH_OPTIONS = (
    click.option(
        "--result",
        type=click.Choice(["1-0", "0-1", "1/2", "void"]),
        help="Only matches with this result, 1-0 for whoever moved first.",
    ),
    click.option(
        "--ply",
        multiple=True,
        metavar="COMPARISON",
        help="Only matches of so many actions: '<20', '>=7', 42; repeatable.",
    ),
)
"""Of single matches; a rating of those that somebody won would be none."""
_PLY = re.compile(r"(<=|>=|<|>|=|)\s*(\d{1,6})")


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


def match_filter_options(command: Callable[..., _Result]) -> Callable[..., _Result]:
    """Add the options of `filter_options`, and those that tell matches by how they went."""

    @wraps(command)
    def with_filter(
        where: MatchFilter, *, result: str | None, ply: tuple[str, ...], **given: object
    ) -> _Result:
        import dataclasses

        from arena.live.views import RESULTS

        outcome = next((outcome for outcome, text in RESULTS.items() if text == result), None)
        plies = tuple(_comparison(text) for text in ply)
        return command(dataclasses.replace(where, outcome=outcome, plies=plies), **given)

    wrapped: Callable[..., _Result] = with_filter
    for option in reversed(_MATCH_OPTIONS):
        wrapped = option(wrapped)
    return filter_options(wrapped)


def check_names(store: Store, where: MatchFilter) -> None:
    """Look whether what an empty answer was asked about is there at all.

    Raises:
        NotFoundError: no such tournament or bot; names the nearest.
    """
    from arena_db.records import MatchFilter
    from arena_db.wild import is_like
    from arena_plugins.spec import nearest

    known = [] if where.tournament is None else [tournament.name for tournament in store.tournaments()]
    if where.tournament is not None and not any(is_like(name, where.tournament) for name in known):
        raise NotFoundError(f'no tournament "{where.tournament}"{nearest(where.tournament, known)}')
    for name in (where.bot, where.vs):
        if name is not None and not store.matches(MatchFilter(bot=name, rated_only=False), limit=1):
            bots = sorted({known for bot in store.bots().values() for known in (bot.name, bot.spec)})
            raise NotFoundError(f'no stored match of a bot "{name}"{nearest(name, bots)}')


def _game(text: str | None) -> str | None:
    from arena_db.wild import is_wild

    if text is None or is_wild(text):
        return text
    from arena_plugins import game_spec, load_game

    return game_spec(load_game(text))


def _termination(text: str | None) -> str | None:
    from arena_db.wild import is_like
    from arena_plugins import Termination
    from arena_plugins.spec import nearest

    if text is not None and not any(is_like(kind, text) for kind in Termination):
        raise click.BadParameter(
            f"{text} is none of {', '.join(Termination)}{nearest(text, Termination)}",
            param_hint="'--termination'",
        )
    return text


def _comparison(text: str) -> tuple[str, int]:
    found = _PLY.fullmatch(text.strip())
    if found is None:
        raise click.BadParameter(f"{text} is not like '<20', '>=7' or 42", param_hint="'--ply'")
    return found[1] or "=", int(found[2])


def _seconds(text: str | None, option: str) -> float | None:
    if text is None:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise click.BadParameter(f"{text} is not a time like 2026-01-31T12:00", param_hint=option) from error
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()

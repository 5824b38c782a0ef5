"""`arena bots history`: the rating of a bot over time."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import click
from rich_click import RichCommand

from arena.cli.options import db_option, format_option

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from arena.results.bot_history import BotHistory, EventHistory, VersionRating
    from arena_db.records import BotRecord

_EVENTS = {
    "date": "Date",
    "tournament": "Tournament",
    "bot": "Bot",
    "games": "Games",
    "elo": "Elo",
    "error": "+/-",
    "faults": "Faults",
}
_VERSIONS = {
    "date": "First played",
    "bot": "Bot",
    "version": "Version",
    "games": "Games",
    "elo": "Elo",
    "error": "+/-",
    "faults": "Faults",
}
_KEYS = (
    *("over", "game", "pool", "tournament", "table", "date", "matches", "bot", "identity", "version"),
    *("elo", "error", "rests_on_prior", "games", "faults"),
)
_DAY = len("2026-11-23")


@click.command(cls=RichCommand)
@click.argument("bot")
@format_option
@db_option
def history(bot: str, *, form: str, db: str | None) -> None:
    """Show the rating of BOT over time, in each tournament and over its versions.

    BOT is a name, spec or label, as tables print it: my-bot means all its versions, my-bot@0.2.0 or
    my-bot~7f3a9c one of them. Elo within a tournament is relative to the mean of its bots, so tournaments
    with other bots have other scales; versions are compared by all their matches in one pool.

    --format json, ndjson and csv print all points: `over` says whether a row is a point of a tournament,
    after `matches` of its rated matches, or a version in its pool; `games` and `faults` count those of the
    bot in the whole tournament or pool.
    """
    from arena.cli.output import emit
    from arena.home import open_store
    from arena.results.bot_history import bot_history

    with open_store(db, read_only=True) as store:
        found = bot_history(store, bot)
    if form == "table":
        _print_events(found.events)
        _print_versions(found.versions)
    else:
        emit("rating-point", history_objects(found), form, {}, _KEYS)


def history_objects(found: BotHistory) -> Iterator[dict[str, object]]:
    """Yield all points as objects: those of tournaments first, then the versions."""
    from arena.watching.json_rows import utc

    for event in found.events:
        for stand in event.stands:
            yield {
                "over": "tournament",
                "game": event.tournament.game,
                "pool": event.tournament.pool.name,
                "tournament": event.tournament.name,
                "table": None,
                "date": utc(stand.ended_at),
                "matches": stand.num_matches,
                **_bot_object(event.bot, event.name),
                "elo": stand.rating.elo,
                "error": stand.rating.error,
                "rests_on_prior": stand.rating.rests_on_prior,
                "games": event.games,
                "faults": event.faults,
            }
    for each in found.versions:
        yield {
            "over": "pool",
            "game": each.game,
            "pool": each.pool,
            "tournament": None,
            "table": each.table,
            "date": utc(each.first_at),
            "matches": None,
            **_bot_object(each.bot, each.name),
            "elo": each.row.elo,
            "error": each.row.error,
            "rests_on_prior": each.row.rests_on_prior,
            "games": each.row.games,
            "faults": each.faults,
        }


def _bot_object(bot: BotRecord, name: str) -> dict[str, object]:
    return {"bot": name, "identity": bot.identity, "version": bot.version or None}


def _print_events(events: Sequence[EventHistory]) -> None:
    from arena.cli.output import print_table
    from arena.cli.plot import Line, print_plot

    rows = [
        {
            "date": _day(event.stands[-1].ended_at),
            "tournament": event.tournament.name,
            "bot": event.name,
            "games": event.games,
            "elo": _elo(event.stands[-1].rating.elo, rests_on_prior=event.stands[-1].rating.rests_on_prior),
            "error": f"{event.stands[-1].rating.error:.0f}",
            "faults": event.faults,
        }
        for event in events
    ]
    print_table(rows, _EVENTS)
    # Points of one tournament at one moment share a column, whichever bot they belong to.
    moments = {
        (event.tournament.created_at, event.tournament.id, stand.num_matches): stand.ended_at
        for event in events
        for stand in event.stands
    }
    places = {moment: place for place, moment in enumerate(sorted(moments))}
    curves: dict[str, list[tuple[int, float]]] = {}
    for event in events:
        for stand in event.stands:
            place = places[event.tournament.created_at, event.tournament.id, stand.num_matches]
            curves.setdefault(event.name, []).append((place, stand.rating.elo))
    ends = [moments[min(moments)], moments[max(moments)]]
    click.echo()
    print_plot([Line(name, points) for name, points in curves.items()], *map(_day, ends))
    click.echo("Elo is relative to the mean of the bots of each tournament (1500).")


def _print_versions(versions: Sequence[VersionRating]) -> None:
    from arena.cli.output import print_table, say
    from arena.cli.plot import Line, print_plot

    for (game, pool), group in groupby(versions, lambda each: (each.game, each.pool)):
        found = list(group)
        click.echo()
        say(f"Over versions: {game}, {pool}")
        rows = [
            {
                "date": _day(each.first_at),
                "bot": each.name,
                "version": each.bot.version or None,
                "games": each.row.games,
                "elo": _elo(each.row.elo, rests_on_prior=each.row.rests_on_prior),
                "error": None if each.row.error is None else f"{each.row.error:.0f}",
                "faults": each.faults,
            }
            for each in found
        ]
        print_table(rows, _VERSIONS)
        if len({each.table for each in found}) > 1:
            click.echo("No match connects some of these bots: their ratings cannot be compared.")
        elif len(found) > 1:
            click.echo()
            points = [(place, each.row.elo) for place, each in enumerate(found)]
            print_plot([Line("versions", points)], _day(found[0].first_at), _day(found[-1].first_at))


def _elo(elo: float, *, rests_on_prior: bool) -> str:
    return f"{elo:.0f}{'?' if rests_on_prior else ''}"


def _day(seconds: float) -> str:
    from arena.watching.json_rows import utc

    return utc(seconds)[:_DAY]

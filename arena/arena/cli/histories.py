"""`arena bots history`: the rating of a bot over time, as a table or as curves drawn with characters."""

from __future__ import annotations

import os
import sys
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

import click
from rich_click import RichCommand

from arena.cli.options import db_option, format_option
from arena_plugins.text import clean_text

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


_MARKS: Final = {"ascii": "*o+x#@%&", "unicode": "●○◆◇■□▲△"}
_AXES: Final = {"ascii": ("|", "+", "-"), "unicode": ("│", "└", "─")}
_STYLES: Final = ("cyan", "magenta", "green", "yellow", "blue", "red", "bright_cyan", "bright_magenta")
_HEIGHT: Final = 12
"""Number of rows of a plot."""
_MOST_COLUMNS: Final = 100
"""Maximum width of a plot, in characters."""
_NAME: Final = 40
"""Maximum number of characters of a curve's name."""
_NICE: Final = (1, 2, 5)
"""Possible steps between rows, to be multiplied by a power of ten."""
_EVERY_LABEL: Final = 4
"""Number of rows from one label of the vertical axis to the next."""

_Grid = list[list[tuple[str, int] | None]]


class Line(NamedTuple):
    """A curve."""

    name: str
    points: Sequence[tuple[int, float]]
    """Position from the left, counted from 0, and value."""


def print_plot(lines: Sequence[Line], left: str, right: str) -> None:
    """Print curves with their names below.

    Args:
        lines: the curves; at least one has a point.
        left: label of the left end of the axis, such as a date.
        right: label of the right end.
    """
    is_screen = sys.stdout.isatty()
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    charset = "unicode" if is_screen and encoding == "utf8" and not os.environ.get("ARENA_ASCII") else "ascii"
    width = min(_MOST_COLUMNS, _columns() if is_screen else 80)
    rows = draw(lines, left, right, width, charset)
    if not is_screen:
        for row in rows:
            click.echo("".join(text for text, _ in row).rstrip())
        return
    from rich.text import Text

    from arena.cli.output import console

    out = console()
    for row in rows:
        out.print(Text.assemble(*((text, "" if number is None else _style(number)) for text, number in row)))


def draw(
    lines: Sequence[Line], left: str, right: str, width: int, charset: str
) -> list[list[tuple[str, int | None]]]:
    """Return the rows of a plot; a row is a list of texts, each with the number of its curve or None.

    Args:
        lines: the curves; at least one has a point.
        left: label of the left end of the axis.
        right: label of the right end.
        width: characters of a row.
        charset: `ascii` or `unicode`.
    """
    values = [value for line in lines for _, value in line.points]
    low, step = _scale(min(values), max(values))
    labels = [f"{low + step * place:.0f}" for place in range(_HEIGHT)]
    margin = max(map(len, labels))
    columns = max(10, width - margin - 2)
    grid = _grid(lines, low, step, columns, _MARKS[charset])
    upright, corner, flat = _AXES[charset]
    rows: list[list[tuple[str, int | None]]] = []
    for place in reversed(range(_HEIGHT)):
        label = labels[place] if place % _EVERY_LABEL == 0 or place == _HEIGHT - 1 else ""
        cells = [(" ", None) if cell is None else cell for cell in grid[place]]
        rows.append([(f"{label:>{margin}} {upright}", None), *cells])
    rows.append([(f"{'':>{margin}} {corner}{flat * columns}", None)])
    gap = max(1, columns - len(left) - len(right))
    rows.append([(f"{'':>{margin}}  {left}{' ' * gap}{right}", None)])
    for number, line in enumerate(lines):
        mark = _MARKS[charset][number % len(_MARKS[charset])]
        rows.append([(f"{'':>{margin}}  ", None), (mark, number), (f" {clean_text(line.name, _NAME)}", None)])
    return rows


def _grid(lines: Sequence[Line], low: float, step: float, columns: int, marks: str) -> _Grid:
    """Return the marks by row from the bottom and column; in a shared cell the later curve is shown."""
    last = max(place for line in lines for place, _ in line.points)
    grid: _Grid = [[None] * columns for _ in range(_HEIGHT)]
    for number, line in enumerate(lines):
        for place, value in line.points:
            column = round(place * (columns - 1) / last) if last else 0
            grid[round((value - low) / step)][column] = marks[number % len(marks)], number
    return grid


def _scale(least: float, most: float) -> tuple[float, float]:
    """Return the value of the lowest row and the step between rows: 1, 2 or 5 times a power of ten."""
    unit = 1.0
    while True:
        for nice in _NICE:
            step = nice * unit
            low = step * (least // step)
            if low + step * (_HEIGHT - 1) >= most:
                return low, step
        unit *= 10


def _columns() -> int:
    import shutil

    return shutil.get_terminal_size().columns


def _style(number: int) -> str:
    return _STYLES[number % len(_STYLES)]

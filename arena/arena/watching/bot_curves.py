"""The rating of a bot over its versions and over time, as series for charts."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from arena.live.table_views import Point, Series, StandingRow
from arena.results.names import shortened

if TYPE_CHECKING:
    from arena.results.bot_page import BotPage

_NAME: Final = 20
"""Width of a version's name in cells."""
_UNITS: Final = ((2 * 86400.0, "days", 86400.0), (2 * 3600.0, "hours", 3600.0), (0.0, "min", 60.0))
"""Minimum span in seconds, unit of the time axis, and seconds of that unit."""


def version_ratings_of(page: BotPage) -> tuple[str, list[StandingRow]]:
    """Return the versions of a bot in its largest pool, newest first.

    Returns:
        Game and pool, and a row for each version.
    """
    if not page.versions:
        return "", []
    first = page.versions[0]
    own = [each for each in page.versions if (each.game, each.pool) == (first.game, first.pool)]
    own.sort(key=lambda each: (-each.first_at, each.name))
    labels = shortened([each.name for each in own], _NAME)
    rows = [
        StandingRow(
            rank=each.rank,
            table=each.table,
            name=each.name,
            label=label,
            elo=each.elo,
            error=each.error,
            rests_on_prior=each.rests_on_prior,
            games=each.games,
        )
        for each, label in zip(own, labels, strict=True)
    ]
    return f"{first.game}, {first.pool}", rows


def curves_of(page: BotPage) -> tuple[str, list[Series]]:
    """Return the time unit and the ratings that runs stored of a bot, one series per version.

    x is the time since the first rating, y is Elo relative to the mean of the tournament (1500).
    """
    points: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for entry in page.tournaments:
        points[entry.name] += [(point.ended_at, point.elo) for point in entry.curve]
    moments = [moment for line in points.values() for moment, _ in line]
    if not moments:
        return "", []
    begin, span = min(moments), max(moments) - min(moments)
    unit, seconds = next((unit, seconds) for least, unit, seconds in _UNITS if span >= least)
    lines = [
        Series(name, tuple(Point((moment - begin) / seconds, elo) for moment, elo in sorted(line)))
        for name, line in points.items()
        if line
    ]
    return unit, lines

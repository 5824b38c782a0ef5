"""The rating of a bot over its versions and over time, as lines of charts."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from arena.live.tables import Point, Series, StandingRow
from arena.results.names import shortened

if TYPE_CHECKING:
    from arena.results.bot_page import BotPage

_NAME: Final = 20
"""Cells of a version's name."""
_UNITS: Final = ((2 * 86400.0, "days", 86400.0), (2 * 3600.0, "hours", 3600.0), (0.0, "min", 60.0))
"""Seconds that a time is at least, the unit of its axis, and the seconds of that."""


def version_ratings_of(page: BotPage) -> tuple[str, list[StandingRow]]:
    """Return the versions of a bot on one scale, the newest first: those of its pool with most matches.

    Returns:
        game and pool, and a row for each version.
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
    """Return the ratings that runs kept of a bot, a line for each version, and the unit of their time.

    x is the time since the first of them, y Elo relative to the mean of the tournament (1500).
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

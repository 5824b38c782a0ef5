"""Sources of pages about bots and openings: cancellable queries, and ratings as series for charts."""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec

from arena.errors import ConfigError, NotFoundError
from arena.live.opening_views import BestPlay
from arena.live.table_views import Point, Series, StandingRow
from arena.results.condition import Condition, read_condition
from arena.results.names import shortened
from arena.watching.query_answers import Empty, Rows
from arena_plugins.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from arena.live.opening_views import OpeningsView
    from arena.results.bot_page import BotPage
    from arena.results.versus import Versus
    from arena.watching.query import Query


def read_bot(query: Query, bot: str) -> Rows[BotPage] | Empty:
    """Return the page of a bot; `bot` is a name in any form that `results.names.called` accepts."""
    # Imported late: NumPy takes long to load, and the first screen must not wait for it.
    from arena.results.bot_page import bot_page

    with query.store() as store:
        try:
            return Rows(bot_page(store, bot, query.is_wanted))
        except NotFoundError as error:
            return Empty(str(error))


def read_versus(query: Query, bot: str, opponent: str, tournament: str = "") -> Rows[Versus] | Empty:
    """Return two bots head to head, in one tournament or in all."""
    from arena.results.versus import versus

    with query.store() as store:
        try:
            return Rows(versus(store, bot, opponent, Condition(tournament=tournament), query.is_wanted))
        except NotFoundError as error:
            return Empty(str(error))


def solving_words(game: str, moves: Sequence[str]) -> list[str]:
    """Return the command, without `arena`, that solves every move of a position.

    Args:
        game: canonical spec.
        moves: moves from the initial position.
    """
    return ["openings", "--solve", "--format=ndjson", f"--game={game}", "--", *moves]


def read_solved(lines: Iterable[str]) -> dict[int, BestPlay]:
    """Parse the output of the command of `solving_words`; return the last result for each action."""
    found: dict[int, BestPlay] = {}
    for line in lines:
        with suppress(msgspec.DecodeError):
            best = msgspec.json.decode(line, type=BestPlay)
            found[best.action] = best
    return found


def read_openings(query: Query, game: str, moves: str, condition: str = "") -> Rows[OpeningsView] | Empty:
    """Return the statistics of the next moves after a line.

    Args:
        query: the query.
        game: canonical spec.
        moves: moves from the initial position.
        condition: condition that selects the matches, as text.
    """
    from msgspec.structs import replace

    from arena.results.opening_statistics import find_openings

    with query.store() as store:
        try:
            wanted = replace(read_condition(condition), game=game)
            view = find_openings(store, wanted, moves, is_wanted=query.is_wanted)
        except (ConfigError, NotFoundError, PluginError) as error:
            return Empty(str(error))
    query.check()
    return Rows(replace(view, condition=condition))


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
    """Return a time unit and the stored ratings of a bot over time, one series per version.

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

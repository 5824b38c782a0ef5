"""Sources of pages about bots and openings: cancellable queries of the store."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from arena.errors import ConfigError, NotFoundError
from arena.live.opening_views import BestPlay
from arena.results.condition import Condition, read_condition
from arena.watching.query_answers import Empty, Rows
from arena_plugins.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from arena.live.opening_views import OpeningsView
    from arena.results.bot_page import BotPage
    from arena.results.versus import Versus
    from arena.watching.query import Query


def read_bot(query: Query, bot: str) -> Rows[BotPage] | Empty:
    """Return the page of a bot, named in any form that `results.names.called` accepts."""
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
    """Parse the output of that command; return the last result for each action."""
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

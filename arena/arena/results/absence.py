"""Distinguishes an empty answer from a mistyped name: checks that the names of a query are in the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.errors import NotFoundError
from arena_db.records import MatchFilter
from arena_db.wild import is_like
from arena_plugins.spec import nearest

if TYPE_CHECKING:
    from arena.results.condition import Condition
    from arena_db.store import Store


def check_names(store: Store, condition: Condition) -> None:
    """Check that the tournament and the bots of a condition are in the store.

    Raises:
        NotFoundError: there is no such tournament or bot; the message names the closest one.
    """
    wanted = condition.tournament
    known = [tournament.name for tournament in store.tournaments.newest()] if wanted else []
    if wanted and not any(is_like(name, wanted) for name in known):
        raise NotFoundError(f'no tournament "{wanted}"{nearest(wanted, known)}')
    for name in filter(None, (condition.bot, condition.vs)):
        if not store.matches.newest(MatchFilter(bot=name, rated_only=False), limit=1):
            bots = sorted({known for bot in store.names.bots().values() for known in (bot.name, bot.spec)})
            raise NotFoundError(f'no stored match of a bot "{name}"{nearest(name, bots)}')

"""Declares stored matches void, lets them count again, and says of a match how it ended."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from getpass import getuser
from typing import TYPE_CHECKING

from arena.errors import ArenaError
from arena_db.errors import LockedError, RefusedError

if TYPE_CHECKING:
    from collections.abc import Collection

    from arena_db.records import StoredMatch
    from arena_db.store import Store


def author() -> str:
    """Return who decides: user@host, as far as the system tells."""
    try:
        user = getuser()
    except (KeyError, OSError):
        user = str(os.getuid()) if hasattr(os, "getuid") else "somebody"
    return f"{user}@{platform.node() or 'localhost'}"


def ending_of(match: StoredMatch) -> str:
    """Return how a match ended, in words: of a void one first why it is void."""
    return f"void ({match.void_reason}): {match.reason}" if match.void_reason else match.reason


def declare_void(
    store: Store, tournaments: Collection[int], numbers: Collection[int], reason: str, *, undo: bool = False
) -> int:
    """Declare matches void, or count them again; return how many that changed.

    Ratings over time that are no longer true are gone then. Those of the present are kept in their place, so
    that the history of a finished tournament has its end; a run keeps its own.

    Args:
        store: where they are, open to write.
        tournaments: ids of those that the matches belong to.
        numbers: ids of matches.
        reason: why, for everybody who looks at them.
        undo: let them count again.

    Raises:
        StoreError: no such match, no reason, or one that is too long.
    """
    judge = store.unvoid if undo else store.void
    num = judge(numbers, reason=reason, who=author())
    if num:
        for tournament in tournaments:
            _rate(store, tournament)
    return num


def _rate(store: Store, tournament: int) -> None:
    """Keep the ratings of now, unless whoever runs the tournament does."""
    # It loads NumPy, which most commands need not wait for.
    from arena.results.history import rate_now

    lease = store.lease(tournament)
    if lease is not None and lease.is_alive:
        return
    # Ratings over time can be computed again from the matches: nothing is lost without this point.
    with suppress(ArenaError, LockedError, RefusedError):
        point = rate_now(store, tournament, len(store.entrants(tournament)))
        if point is not None:
            store.add_rating_point(tournament, point)

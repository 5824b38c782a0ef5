"""Declares stored matches void, lets them count again, and says of a match how it ended."""

from __future__ import annotations

import os
import platform
import time
from contextlib import suppress
from getpass import getuser
from typing import TYPE_CHECKING, Final, Literal

from arena.errors import ArenaError
from arena.live.events import EntrantChange, Voided, kind_of, pack
from arena_db.errors import LockedError, RefusedError
from arena_db.records import LiveEvent

if TYPE_CHECKING:
    from collections.abc import Collection

    from arena_db.records import StoredMatch
    from arena_db.store import Store

_MOST_TOLD: Final = 1_000
"""Characters of a reason that viewers are told."""


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
            _tell_void(store, tournament, numbers, reason, undo=undo)
            rate_after_change(store, tournament)
    return num


def _tell_void(store: Store, tournament: int, numbers: Collection[int], reason: str, *, undo: bool) -> None:
    """Record for viewers which matches of a tournament are void now, or count again."""
    found = [match for match in map(store.match, sorted(numbers)) if match is not None]
    own = [match.number for match in found if match.tournament == tournament]
    single = own[0] if len(own) == 1 else None
    _tell(store, tournament, Voided(num=len(own), match=single, reason=reason[:_MOST_TOLD], undone=undo))


def tell_entrant(
    store: Store, tournament: int, bot: str, change: Literal["join", "leave", "disqualify"], reason: str
) -> None:
    """Record for viewers that a bot has joined a tournament, left it or was disqualified."""
    _tell(store, tournament, EntrantChange(bot=bot, change=change, reason=reason[:_MOST_TOLD]))


def _tell(store: Store, tournament: int, body: Voided | EntrantChange) -> None:
    """Record for viewers a change of a tournament; where the store is locked nobody hears of what it has."""
    event = LiveEvent(
        tournament=tournament, number=None, kind=kind_of(body), payload=pack(body), t=time.time()
    )
    with suppress(LockedError):
        store.append_events([event])


def rate_after_change(store: Store, tournament: int) -> None:
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

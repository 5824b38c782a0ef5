"""Declares stored matches void or valid again, and publishes such corrections to viewers."""

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
"""Maximum characters of a reason in a live event."""


def author() -> str:
    """Return the author of a decision as user@host, with a substitute for a part that is unknown."""
    try:
        user = getuser()
    except (KeyError, OSError):
        user = str(os.getuid()) if hasattr(os, "getuid") else "somebody"
    return f"{user}@{platform.node() or 'localhost'}"


def ending_of(match: StoredMatch) -> str:
    """Return in words how a match ended; for a void match, its void reason comes first."""
    return f"void ({match.void_reason}): {match.reason}" if match.void_reason else match.reason


def declare_void(
    store: Store, tournaments: Collection[int], numbers: Collection[int], reason: str, *, undo: bool = False
) -> int:
    """Declare matches void, or valid again; return how many changed.

    Stored ratings over time that are no longer correct are dropped. The current rating is stored in their
    place, so that the history of a finished tournament has an end; a running tournament stores its own.

    Args:
        store: the store, opened for writing.
        tournaments: ids of the tournaments of the matches.
        numbers: ids of the matches.
        reason: the reason, which is shown to all viewers.
        undo: whether to declare them valid again.

    Raises:
        StoreError: there is no such match, or the reason is missing or too long.
    """
    judge = store.changes.unvoid if undo else store.changes.void
    num = judge(numbers, reason=reason, who=author())
    if num:
        for tournament in tournaments:
            _tell_void(store, tournament, numbers, reason, undo=undo)
            rate_after_change(store, tournament)
    return num


def _tell_void(store: Store, tournament: int, numbers: Collection[int], reason: str, *, undo: bool) -> None:
    """Publish to viewers which matches of a tournament became void or valid."""
    found = [match for match in map(store.matches.find, sorted(numbers)) if match is not None]
    own = [match.number for match in found if match.tournament == tournament]
    single = own[0] if len(own) == 1 else None
    _tell(store, tournament, Voided(num=len(own), match=single, reason=reason[:_MOST_TOLD], undone=undo))


def tell_entrant(
    store: Store, tournament: int, bot: str, change: Literal["join", "leave", "disqualify"], reason: str
) -> None:
    """Publish to viewers that a bot joined a tournament, left it or was disqualified."""
    _tell(store, tournament, EntrantChange(bot=bot, change=change, reason=reason[:_MOST_TOLD]))


def _tell(store: Store, tournament: int, body: Voided | EntrantChange) -> None:
    """Publish a change of a tournament; skipped if the store is locked, as the change itself is stored."""
    event = LiveEvent(
        tournament=tournament, number=None, kind=kind_of(body), payload=pack(body), t=time.time()
    )
    with suppress(LockedError):
        store.events.append([event])


def rate_after_change(store: Store, tournament: int) -> None:
    """Store the current ratings, unless a running coordinator does so."""
    # Imported late: it loads NumPy, which most commands do not need.
    from arena.results.history import rate_now

    lease = store.leases.find(tournament)
    if lease is not None and lease.is_alive:
        return
    # Points can be recomputed from the matches, so a failure here loses nothing.
    with suppress(ArenaError, LockedError, RefusedError):
        point = rate_now(store, tournament, len(store.tournaments.entrants(tournament)))
        if point is not None:
            store.ratings.add_point(tournament, point)

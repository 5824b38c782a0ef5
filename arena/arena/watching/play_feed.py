"""The feed of a match against a person: only matches, polled often, since the person waits for an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from typing_extensions import override

from arena.watching.store_feed import StoreFeed

if TYPE_CHECKING:
    from arena.watching.feed import FeedUpdate
    from arena_db.store import Store

_FAST_S: Final = 0.03
"""Seconds between two polls: a person waits, and a stone must be visible within 0.25 s of its click."""


class PlayFeed(StoreFeed):
    """Follows one match against a person."""

    @property
    @override
    def interval(self) -> float:
        return min(_FAST_S, super().interval)

    @override
    def _tables(self, store: Store) -> FeedUpdate | None:
        """Return None: no standings are shown during the match."""
        del store
        self._facts_are_due = False
        return None

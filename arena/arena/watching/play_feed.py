"""The feed of a play: matches alone, asked for often, since a person waits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from typing_extensions import override

from arena.watching.store_feed import StoreFeed

if TYPE_CHECKING:
    from arena.watching.feed import Batch
    from arena_db.store import Store

_FAST_S: Final = 0.03


class PlayFeed(StoreFeed):
    """Follows one play."""

    @property
    @override
    def interval(self) -> float:
        return min(_FAST_S, super().interval)

    @override
    def _tables(self, store: Store) -> Batch | None:
        """Make no tables: nobody looks at the standings of a play while it goes on."""
        del store
        self._facts_are_due = False
        return None

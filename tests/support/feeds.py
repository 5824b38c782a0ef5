"""A feed of given batches for the dashboard, and a function that reads any feed to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.watching.feed import FeedUpdate, Model, advance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.watching.store_feed import StoreFeed


def drain(feed: StoreFeed, model: Model | None = None) -> Model:
    """Return the model after the feed has delivered everything; starts from `model`."""
    model = model or Model()
    for _ in range(6):
        batch = feed.poll()
        if batch is not None:
            model = advance(model, batch)
    return model


class RecordedFeed:
    """A feed of given batches."""

    def __init__(self, batches: Sequence[FeedUpdate]) -> None:
        self._batches = list(batches)
        self.is_closed = False

    @property
    def interval(self) -> float:
        """Return zero: no wait."""
        return 0.0

    def poll(self) -> FeedUpdate | None:
        """Return the next batch; after the last one, a batch that ends the feed."""
        return self._batches.pop(0) if self._batches else FeedUpdate(is_last=True)

    def close(self) -> None:
        """Record the call."""
        self.is_closed = True

    def cancel(self) -> None:
        """Do nothing: batches take no time."""

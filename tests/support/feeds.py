"""Reads a feed of the dashboard to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.watching.feed import Model, advance

if TYPE_CHECKING:
    from arena.watching.store_feed import StoreFeed


def drain(feed: StoreFeed, model: Model | None = None) -> Model:
    """Return the model after the feed has delivered everything; starts from `model`."""
    model = model or Model()
    for _ in range(6):
        batch = feed.poll()
        if batch is not None:
            model = advance(model, batch)
    return model

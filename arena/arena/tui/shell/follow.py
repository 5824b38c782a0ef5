"""The single thread that polls the feed: it reduces batches and posts one message per batch."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final, cast

import msgspec
from textual.message import Message
from textual.worker import get_current_worker  # pyright: ignore[reportUnknownVariableType] # Textual leaves results of workers open

from arena.tui.text import safe
from arena.watching.feed import Model, Poller, advance
from arena.watching.query import Cancelled

if TYPE_CHECKING:
    from textual.message_pump import MessagePump
    from textual.worker import Worker

    from arena.watching.feed import Feed

_SLICE_S: Final = 0.2
"""Maximum seconds until a cancelled worker is noticed."""


class NewData(Message):
    """A batch has arrived."""

    def __init__(self, model: Model, feed: Feed | None = None) -> None:
        super().__init__()
        self.model = model
        """The model after the batch."""
        self.feed = feed
        """The feed of the batch; None for the feed that the app follows."""


def follow(feed: Feed, target: MessagePump, model: Model | None = None) -> None:
    """Poll `feed` until it ends or the worker is cancelled; runs in a thread worker.

    Args:
        feed: the feed; closed at the end.
        target: gets a message for each batch.
        model: the model before the first batch; None for an empty one.
    """
    worker = cast("Worker[None]", get_current_worker())
    model, poller = model or Model(), Poller(feed)
    try:
        while not worker.is_cancelled:
            before, polled = model, poller.poll()
            if polled.error is not None:
                model = msgspec.structs.replace(model, trouble=safe(str(polled.error)))
            elif polled.batch is not None:
                model = advance(model, polled.batch)
            elif model.trouble:
                model = msgspec.structs.replace(model, trouble="")
            if model is not before and not worker.is_cancelled:
                target.post_message(NewData(model, feed))
            if model.is_over:
                return
            _wait(polled.pause_s, worker)
    except Cancelled:
        # The reader was cancelled, so its data is no longer needed.
        return
    finally:
        feed.close()


def _wait(seconds: float, worker: Worker[None]) -> None:
    end = time.monotonic() + seconds
    never = threading.Event()
    while not worker.is_cancelled and (left := end - time.monotonic()) > 0:
        never.wait(min(left, _SLICE_S))

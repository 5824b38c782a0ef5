"""The one thread that asks the feed: it reduces what comes and posts one message a batch."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final, cast

import msgspec
from textual.message import Message
from textual.worker import get_current_worker  # pyright: ignore[reportUnknownVariableType] # Textual leaves results of workers open

from arena.errors import ArenaError
from arena.tui.text import safe
from arena.watching.feed import Model, Stoppable, advance

if TYPE_CHECKING:
    from textual.message_pump import MessagePump
    from textual.worker import Worker

    from arena.watching.feed import Feed

_FIRST_DELAY_S: Final = 0.25
_LAST_DELAY_S: Final = 4.0
"""Seconds until a feed that failed is asked again: doubled each time, up to this."""
_SLICE_S: Final = 0.2
"""Seconds after which an app that ends is noticed."""


class NewData(Message):
    """A batch has come."""

    def __init__(self, model: Model, feed: Feed | None = None) -> None:
        super().__init__()
        self.model = model
        """Everything that is known now."""
        self.feed = feed
        """Where it comes from; None: from the one that is followed."""


def follow(feed: Feed, target: MessagePump) -> None:
    """Ask `feed` until it ends or the worker is cancelled; runs in a thread worker."""
    worker = cast("Worker[None]", get_current_worker())
    model, delay = Model(), _FIRST_DELAY_S
    if isinstance(feed, Stoppable):
        feed.is_wanted = lambda: not worker.is_cancelled
    try:
        while not worker.is_cancelled:
            before = model
            try:
                batch = feed.poll()
                pause, delay = feed.interval, _FIRST_DELAY_S
                if batch is not None:
                    model = advance(model, batch)
                elif model.trouble:
                    model = msgspec.structs.replace(model, trouble="")
            except ArenaError as error:
                model = msgspec.structs.replace(model, trouble=safe(str(error)))
                pause, delay = delay, min(_LAST_DELAY_S, 2 * delay)
            if model is not before:
                target.post_message(NewData(model, feed))
            if model.is_over:
                return
            _wait(pause, worker)
    finally:
        feed.close()


def _wait(seconds: float, worker: Worker[None]) -> None:
    end = time.monotonic() + seconds
    never = threading.Event()
    while not worker.is_cancelled and (left := end - time.monotonic()) > 0:
        never.wait(min(left, _SLICE_S))

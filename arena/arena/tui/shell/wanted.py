"""A function that tells a thread whether its work is still needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual.worker import get_current_worker  # pyright: ignore[reportUnknownVariableType] # Textual leaves results of workers open

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.worker import Worker


def still_wanted() -> Callable[[], bool]:
    """Return a function that returns True until the worker of this thread is cancelled."""
    worker = cast("Worker[None]", get_current_worker())
    return lambda: not worker.is_cancelled

"""Detects when an app under test has nothing left to do, from its event loop instead of its CPU time.

Textual's pilot sleeps 20 ms twice for every key, and again until the process has used less than 1 ms of the
last 20 ms. That is most of the time of a test of screens. On a busy machine, where the process gets no CPU,
the pilot mistakes an app that has not begun for an idle one.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, cast

from textual._context import active_app
from textual._wait import SLEEP_GRANULARITY, wait_for_idle

if TYPE_CHECKING:
    from collections import deque

    import pytest
    from textual.app import App
    from textual.screen import Screen

_WAITING = ("_layout_required", "_scroll_required", "_repaint_required", "_recompose_required")
"""Flags of a screen that are set while work waits for its next frame, up to 1/60 s later."""
_CHANGED = ("_dirty_widgets", "_callbacks")
"""Collections of a screen that are not empty while work waits for its next frame."""


def install(patch: pytest.MonkeyPatch) -> None:
    """Make every pilot wait for quiescence."""
    for user in ("textual.pilot", "textual.app"):
        patch.setattr(f"{user}.wait_for_idle", wait_until_quiet)


async def wait_until_quiet(min_sleep: float = SLEEP_GRANULARITY, max_sleep: float = 1) -> None:
    """Return when no callback is ready, no frame is due and no worker of the app is at work.

    If a worker is at work, Textual's own function decides, because the worker may wait for the next step of
    the test.

    Args:
        min_sleep: as in Textual, used only if a worker is at work.
        max_sleep: seconds of CPU time after which an app that is never idle counts as quiet. Elapsed time
            would not do: on a busy machine, an app may not even have begun after a second.
    """
    app: App[Any] = active_app.get()
    await _run_what_is_ready(app, time.thread_time() + max_sleep)
    # A feed may run as long as the app; tests wait for the data that it delivers.
    if not all(worker.is_finished or worker.name == "feed" for worker in app.workers):
        await wait_for_idle(min_sleep, max_sleep)
        await _run_what_is_ready(app, time.thread_time() + max_sleep)


async def _run_what_is_ready(app: App[Any], end: float) -> None:
    """Run the loop until nothing is ready, resizes are reported and the current screen is painted."""
    ready = cast("deque[object]", getattr(asyncio.get_running_loop(), "_ready"))  # noqa: B009 # no public way
    while time.thread_time() < end:
        await asyncio.sleep(0)
        if ready:
            continue
        if app._resize_event is not None:  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] # it waits for 1/120 s
            app._check_resize()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] # as its timer does
            continue
        screen = app.screen_stack[-1] if app.screen_stack else None
        if screen is None or not _is_due(app, screen):
            return
        screen._on_timer_update()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] # as the pilot does


def _is_due(app: App[Any], screen: Screen[Any]) -> bool:
    if not screen.is_current or app._batch_count:  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] # nothing is painted then
        return False
    return any(getattr(screen, name) for name in (*_WAITING, *_CHANGED))

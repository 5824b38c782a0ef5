"""When an app under test has nothing left to do, asked of its event loop instead of guessed from CPU time.

Textual's pilot sleeps 20 ms twice for every key, and again until the process has used less than 1 ms of the
last 20 ms. That is most of the time of a test of screens. On a busy machine, where the process gets no CPU,
it takes an app for idle that has not begun.
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
_CHANGED = ("_dirty_widgets", "_callbacks")
"""What a screen does only with its next frame, up to 1/60 s later: flags, and collections."""


def install(patch: pytest.MonkeyPatch) -> None:
    """Have every pilot wait for quiescence."""
    for user in ("textual.pilot", "textual.app"):
        patch.setattr(f"{user}.wait_for_idle", wait_until_quiet)


async def wait_until_quiet(min_sleep: float = SLEEP_GRANULARITY, max_sleep: float = 1) -> None:
    """Return when no callback is ready, no frame is due and no worker of the app is at work.

    Where a worker is at work, Textual's guess decides: it may wait for something that the test does next.

    Args:
        min_sleep: as Textual's, used only where a worker is at work.
        max_sleep: seconds of CPU after which an app that never rests is taken for quiet. A machine that lets
            this thread wait for a second would otherwise make an app quiet that has not even begun.
    """
    app: App[Any] = active_app.get()
    await _run_what_is_ready(app, time.thread_time() + max_sleep)
    # A feed may go on for as long as the app does; tests wait for what it tells.
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

"""The default header: the tournament, its progress, and whether the shown data is fresh."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from arena.live.plain import duration_text
from arena.naming import count_text
from arena.tui.shell.chrome import HeaderPart
from arena.tui.text import shorten
from arena.watching.run_words import run_words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from arena.live.views import ProgressView
    from arena.tui.glyphs import Glyphs
    from arena.watching.feed import Model

_WIDE = 120
"""Columns from which the header has room for goal and progress."""
_GOAL = 60
"""Maximum width of the progress towards a goal, in cells."""


class Shown(Protocol):
    """The part of an app that the header reads."""

    model: Model
    is_frozen: bool
    lag: float | None
    glyphs: Glyphs
    clock: Callable[[], float]


def usual_parts(shown: Shown, width: int) -> Sequence[HeaderPart]:
    """Return state, tournament, progress and health; health is the last part to be left out."""
    model, progress = shown.model, shown.model.view.progress
    words = run_words(model, shown.clock())
    name = f" {shown.glyphs.dot} {progress.name}" if progress.name else ""
    is_live = words.is_live
    parts = [
        HeaderPart("arena", "title"),
        HeaderPart(f"{words.state}{name}", "focus" if is_live else "alert"),
    ]
    if shown.is_frozen:
        parts.append(HeaderPart("FROZEN", "alert"))
    if words.warning:
        parts.append(HeaderPart(words.warning, "alert"))
    parts.append(HeaderPart(f"{progress.game} {progress.tc}".strip(), "", 4))
    parts.append(HeaderPart(shorten(progress.goal, _GOAL) if width >= _WIDE else "", "title", 2))
    if width >= _WIDE and progress.planned != 0:
        parts += _progress_parts(progress, shown.clock(), is_live=is_live)
    if progress.workers and progress.state != "ended":
        plural = "" if progress.workers == 1 else "s"
        parts.append(HeaderPart(f"{progress.workers} worker{plural}", "", 7))
    if model.health.store:
        parts.append(HeaderPart(f"store {model.health.store}", "", 3))
    if shown.lag is not None:
        parts.append(HeaderPart(f"lag {shown.lag:.2f}s", "", 1))
    parts.append(HeaderPart(f"seq {model.view.seq}", "", 8))
    return [part for part in parts if part.text]


def _progress_parts(progress: ProgressView, now: float, *, is_live: bool) -> list[HeaderPart]:
    """Return the progress, and while the tournament is live its rate and remaining time."""
    pace = progress.at(now)
    share = "" if progress.planned is None else f" {100 * pace.share:.0f}%"
    parts = [HeaderPart(f"{count_text(progress.done, progress.planned)} matches{share}", "", 5)]
    if is_live and progress.rate is not None:
        parts.append(HeaderPart(f"{progress.rate:.1f} matches/min", "", 6))
    if pace.is_stalled:
        parts.append(HeaderPart("stalled", "alert", 5))
    elif is_live and pace.eta_s is not None:
        parts.append(HeaderPart(f"ETA {duration_text(pace.eta_s).replace(' ', '')}", "", 5))
    return parts

"""The state of a run in words, the same on every screen."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final, NamedTuple

from arena.live.tournament_views import STATES

if TYPE_CHECKING:
    from arena.live.views import ProgressView
    from arena.watching.feed import Model

_STATES: Final = {
    "": "WAITING",
    "preparing": "PREPARING",
    "running": "LIVE",
    "paused": "PAUSED",
    "stopping": "STOPPING",
    "ended": "ENDED",
}

_STOPPED: Final = "stopped"
"""Reason shown for a stop that was read from the store, which stores no reason."""


class RunWords(NamedTuple):
    """The state of a run in a word, and a warning."""

    state: str
    """The state, such as `LIVE`, `PAUSED` or `no coordinator`."""
    warning: str
    """A further warning; empty if there is none or if `state` expresses it."""

    @property
    def is_live(self) -> bool:
        """Whether matches are being played, according to the latest data."""
        return self.state == _STATES["running"]


def run_words(model: Model, now: float) -> RunWords:
    """Return the state of a run at `now`, in seconds since 1970 (UTC)."""
    progress = model.view.progress
    if model.is_awaited:
        return RunWords("LOADING", "")
    state, warning = _STATES[progress.state], model.health.warning(now)
    if _is_stopped(progress):
        # Lists of tournaments use the same word, so that finished and resumable tournaments look different.
        state = STATES["stopped"].upper()
    # A warning replaces the state LIVE: no responding process is known to run the tournament.
    return RunWords(warning, "") if warning and state == _STATES["running"] else RunWords(state, warning)


def awaited_words(model: Model, now: float) -> str:
    """Return what a tournament waits for, in a sentence; empty while a match is being played."""
    progress = model.view.progress
    if any(match.is_played for match in model.view.matches.values()):
        return ""
    resume = f"arena resume {shlex.quote(progress.name)} continues it."
    words = run_words(model, now)
    if not words.is_live and progress.state == "running":
        if model.health.is_gone or not model.health.is_silent:
            return f"No process plays this tournament; {resume}"
        return "The process that plays this tournament has not answered for a while; its boards stand still."
    because = f": {progress.reason}" if progress.reason else ""
    if _is_stopped(progress):
        why = "" if progress.reason == _STOPPED else because
        return f"This tournament is stopped{why}; {resume}"
    if progress.state == "ended" and progress.reason.startswith("refused: "):
        return f"This tournament was {progress.reason}."
    return {
        "": "This tournament is being loaded."
        if model.is_awaited
        else "Nothing is known of this tournament yet.",
        "preparing": f"The first match is being prepared{because}.",
        "running": "No match to show: the next one has not begun, or matches are too short to follow.",
        "paused": f"This tournament is paused{because}; no match begins until it is resumed.",
        "stopping": f"This tournament is stopping{because}; no further match begins.",
        "ended": f"This tournament has ended{because}.",
    }[progress.state]


def _is_stopped(progress: ProgressView) -> bool:
    """Return whether a run ended before its tournament; a finished tournament has no reason."""
    if progress.state != "ended" or not progress.reason or progress.reason.startswith("refused: "):
        return False
    return progress.reason == _STOPPED or progress.planned is None or progress.done < progress.planned

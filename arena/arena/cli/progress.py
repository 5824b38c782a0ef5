"""The progress of a run on stderr."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

import click

from arena.live.pace import Progress
from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

_BAR = 20
"""Width of the bar, and maximum number of characters of a bot's name."""
_CLEAR = "\r\x1b[K"
_NUM_LEADERS = 3
"""Number of bots that are shown with their Elo."""


class ProgressLine:
    """A progress line: redrawn at most once a second on a terminal, otherwise printed when due."""

    def __init__(self, *, quiet: bool, clock: Callable[[], float] = time.monotonic) -> None:
        """Create the line; if `quiet`, it is never shown."""
        self._quiet = quiet
        self._live = sys.stderr.isatty() and not quiet
        self._clock = clock
        self._began = clock()
        self._drawn_at = self._began
        self._num_before: int | None = None
        self._line = ""

    def show(  # noqa: PLR0913 - what stands in the line
        self,
        done: int,
        total: int | None,
        *,
        faults: int,
        due: bool,
        elo: Mapping[str, float],
        is_most: bool = False,
    ) -> None:
        """Show the progress of the run.

        Args:
            done: number of finished matches.
            total: number of matches to be played in all; None if it is not known yet.
            is_most: whether `total` is only an upper bound.
            faults: number of matches that bots forfeited.
            due: whether to print a line if stderr is not a terminal.
            elo: incremental Elo of each bot; the best ones are shown, marked as approximate.
        """
        if self._num_before is None:
            self._num_before = done - 1
        now = self._clock()
        if self._quiet or not (now - self._drawn_at >= 1 if self._live else due):
            return
        self._drawn_at = now
        rate = 60 * (done - self._num_before) / max(now - self._began, 1e-9)
        progress = Progress(done=done, total=total, rate=rate, is_most=is_most)
        pace = f"{rate:.1f}/min"
        if total is None:
            text = f"{done} matches  {pace}  faults {faults}"
        else:
            eta_s = progress.eta_s
            # The decision of a test can come at any time, so an ETA would mean nothing.
            left = "" if is_most else f"  ETA {'-' if eta_s is None else timedelta(seconds=round(eta_s))}"
            most = f"at most {total}" if is_most else f"{total}"
            percent = "" if is_most else f" ({100 * done // max(total, 1)}%)"
            text = f"{done}/{most} matches{percent}  {pace}{left}  faults {faults}"
        if self._live:
            filled = int(_BAR * progress.share)
            self._line = f"[{'#' * filled}{'.' * (_BAR - filled)}] {text}{_ticker(elo)}"
            self._draw()
        else:
            click.echo(text, err=True)

    @contextmanager
    def aside(self) -> Generator[None]:
        """Clear the line while something else is printed."""
        if self._line:
            click.echo(_CLEAR, nl=False, err=True)
        yield
        self._draw()

    def end(self) -> None:
        """Clear the line for good."""
        if self._line:
            click.echo(_CLEAR, nl=False, err=True)
            self._line = ""

    def _draw(self) -> None:
        if self._line:
            click.echo(_CLEAR + self._line, nl=False, err=True)


def _ticker(elo: Mapping[str, float]) -> str:
    best = sorted(elo, key=lambda name: -elo[name])[:_NUM_LEADERS]
    return "".join(f"  {clean_text(name, _BAR)} ~{elo[name]:.0f}" for name in best)

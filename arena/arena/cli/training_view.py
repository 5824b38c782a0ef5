"""Shows a training run: live on a terminal, otherwise as plain lines at intervals."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

import click

from arena.cli.output import say
from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from rich.console import RenderableType
    from rich.live import Live

    from arena.training.metrics import Figure

_EVERY_S = 10.0
"""Seconds between two plain lines."""
_WINDOW_S = 0.5
"""Seconds between two updates of the live view."""
_NAME = 40
"""Maximum number of characters of a figure's name."""
_LINE = 500
"""Maximum number of characters shown of a line."""
_BAR = 30
"""Width of the bar, in characters."""


class TrainingView:
    """The view of a run: the newest value of each figure, progress, speed, time left."""

    def __init__(
        self, *, quiet: bool, live: Live | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._quiet = quiet
        self._live = live
        self._clock = clock
        self._figures: dict[str, Figure] = {}
        self._step = self._total = 0
        self._seconds = 0.0
        self._start: tuple[int, float] | None = None
        self._shown_at = clock()

    def figure(self, figure: Figure) -> None:
        """Record the newest value of a figure."""
        self._figures[figure.name] = figure

    def progress(self, step: int, total: int, seconds: float) -> None:
        """Record the position of the run, and show it if it is time to."""
        self._step, self._total, self._seconds = step, total, seconds
        if self._start is None:
            self._start = (step, seconds)
        now = self._clock()
        if self._quiet or now - self._shown_at < (_EVERY_S if self._live is None else _WINDOW_S):
            return
        self._shown_at = now
        if self._live is None:
            click.echo(self._line(), err=True)
        else:
            self._live.update(self._table(), refresh=True)

    def say(self, text: str) -> None:
        """Print a line, above the live view if there is one."""
        if self._quiet:
            return
        if self._live is None:
            say(text, err=True)
        else:
            self._live.console.print(clean_text(text, _LINE))

    def _rate(self) -> float:
        """Return the steps per second of this sitting."""
        step, seconds = self._start or (0, 0.0)
        return (self._step - step) / max(self._seconds - seconds, 1e-9)

    def _left(self) -> str:
        rate = self._rate()
        return "-" if rate <= 0 else str(timedelta(seconds=round((self._total - self._step) / rate)))

    def _line(self) -> str:
        figures = "".join(f"  {name} {_number(figure)}" for name, figure in self._shown())
        percent = 100 * self._step // max(self._total, 1)
        return (
            f"step {self._step}/{self._total} ({percent}%)  {self._rate():.1f}/s  ETA {self._left()}{figures}"
        )

    def _shown(self) -> list[tuple[str, Figure]]:
        return [(clean_text(name, _NAME), figure) for name, figure in self._figures.items()]

    def _table(self) -> RenderableType:
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, show_header=False, pad_edge=False)
        filled = _BAR * self._step // max(self._total, 1)
        bar = f"[{'#' * filled}{'.' * (_BAR - filled)}] {100 * self._step // max(self._total, 1)}%"
        rows = [
            ("step", f"{self._step:,} of {self._total:,}"),
            ("", bar),
            ("rate", f"{self._rate():,.1f} steps/s"),
            ("time", f"{timedelta(seconds=round(self._seconds))}, left {self._left()}"),
            *((name, _number(figure)) for name, figure in self._shown()),
        ]
        for name, value in rows:
            table.add_row(Text(name, style="dim"), Text(value))
        return table


@contextmanager
def view_of(*, quiet: bool) -> Generator[TrainingView]:
    """Yield the live view if stderr is a terminal, else one of plain lines."""
    if quiet or not sys.stderr.isatty():
        yield TrainingView(quiet=quiet, live=None)
        return
    from rich.console import Console
    from rich.live import Live

    # Drawn only when there is something new: a refresh thread of its own would take time from training.
    with Live(
        console=Console(stderr=True, markup=False, emoji=False, highlight=False),
        auto_refresh=False,
        transient=False,
    ) as live:
        yield TrainingView(quiet=False, live=live)


def _number(figure: Figure) -> str:
    return "-" if figure.value is None else f"{figure.value:.4g}"

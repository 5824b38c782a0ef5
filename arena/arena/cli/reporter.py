"""Reports the events of a running tournament; its progress goes to stderr, subclasses print the rest."""

from __future__ import annotations

import shlex
import sys
import time
from abc import ABC, abstractmethod
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

import click
import msgspec

from arena.cli.output import say
from arena.coordinator.run_events import BotWithdrawn, DecisionFell, MatchFinished, MatchStarted, RunNotice
from arena.live.pace import Progress
from arena_plugins import Termination
from arena_plugins.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from arena.coordinator.changes import BotChange
    from arena.coordinator.config import TournamentConfig
    from arena.coordinator.run_events import Ended, Event
    from arena.entrants import LeftOut
    from arena.results.by_place import EventTables
    from arena.results.counts import HeadToHead
    from arena.results.crosstable import Crosstable
    from arena.results.encounter import Scores
    from arena.results.sequential import SprtReport
    from arena.results.tables import Table
    from arena_db.records import TournamentRecord


class HeldTournament(NamedTuple):
    """A tournament that is being run."""

    record: TournamentRecord
    config: TournamentConfig
    labels: list[str]
    """Labels of the bots, by seat."""
    scores: Scores
    """Scores, which include the matches stored before this run."""
    rate: Callable[[], list[Table]]
    """Returns the present standings."""
    quiet: bool
    """Whether only the results are shown."""
    refused: Sequence[LeftOut] = ()
    """Bots that were to take part but were refused."""
    test: Callable[[], SprtReport] | None = None
    """Returns the state of the sequential test; None for a tournament that is not a sequential test."""

    db: str | None = None
    """The store as given on the command line."""

    @property
    def resume(self) -> str:
        """The command that continues the tournament, with the options that are not stored."""
        given = {"--keys": self.config.keys, "--db": self.db}
        words = (word for option, value in given.items() if value for word in (option, value))
        return shlex.join(["arena", "resume", self.record.name, *words])

    @property
    def is_match(self) -> bool:
        """Whether the tournament is one encounter of two bots."""
        return self.record.type == "match"


class Results(NamedTuple):
    """The results of a run."""

    tables: list[Table]
    cross: Crosstable
    met: HeadToHead | None
    """The encounter of a match of two bots, as seen by the bot named first; None for a test."""
    report: SprtReport | None = None
    """The report of a sequential test."""
    event: EventTables | None = None
    """The tables of a Swiss tournament or a knockout."""


class Reporter(ABC):
    """Prints progress and warnings to stderr; subclasses print results to stdout."""

    def __init__(self, held: HeldTournament) -> None:
        """Create a reporter for `held`."""
        self.held = held
        self.num_warnings = 0
        self._progress = ProgressLine(quiet=held.quiet)
        self._num_faults = 0
        self._is_most = held.test is not None and not held.record.decision
        self._num_finished = 0

    @abstractmethod
    def begin(self) -> None:
        """Print what is going to be played."""

    @abstractmethod
    def started(self, event: MatchStarted) -> None:
        """Print that a match began."""

    @abstractmethod
    def finished(self, event: MatchFinished, num_finished: int) -> None:
        """Print a finished match, the `num_finished`-th of this run."""

    @abstractmethod
    def decided(self, event: DecisionFell) -> None:
        """Print the decision of a test."""

    @abstractmethod
    def standings(self) -> None:
        """Print the standings during the run."""

    @abstractmethod
    def end(self, ended: Ended, results: Results) -> None:
        """Print the results, and how the run ended."""

    def tell(self, event: Event) -> None:
        """Report one event."""
        if isinstance(event, RunNotice):
            (self.warn if event.is_warning else self.remark)(event.text)
        elif isinstance(event, BotWithdrawn):
            self.warn(f"{event.bot} is withdrawn: {event.reason}")
        elif isinstance(event, MatchStarted):
            with self._progress.aside():
                self.started(event)
        elif isinstance(event, MatchFinished):
            self._finished(event)
        elif isinstance(event, DecisionFell):
            self._is_most = False
            with self._progress.aside():
                self.decided(event)
        else:
            self._progress.end()

    def changed(self, change: BotChange) -> None:
        """Report a bot that is entered as a new competitor because its content changed."""
        self.remark(str(change))

    def warn(self, text: str) -> None:
        """Print a warning to stderr."""
        self.num_warnings += 1
        self.remark(f"warning: {text}")

    def remark(self, text: str) -> None:
        """Print a line to stderr."""
        with self._progress.aside():
            say(text, err=True)

    def _finished(self, event: MatchFinished) -> None:
        self._num_faults += Termination(event.record.termination).is_fault
        self._num_finished += 1
        self.held.scores.add(event.record, event.first, event.second)
        interval = self.held.config.rating_interval
        is_due = interval > 0 and self._num_finished % interval == 0 and event.num_done != event.total
        with self._progress.aside():
            self.finished(event, self._num_finished)
            if is_due:
                self.standings()
        elo = self.held.scores.ticker.elo
        progress = Progress(done=event.num_done, total=event.total, is_most=self._is_most)
        self._progress.show(progress, faults=self._num_faults, due=is_due, elo=elo)


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

    def show(self, progress: Progress, *, faults: int, due: bool, elo: Mapping[str, float]) -> None:
        """Show the progress of the run.

        Args:
            progress: the progress; its rate is measured here.
            faults: number of matches that bots forfeited.
            due: whether to print a line if stderr is not a terminal.
            elo: incremental Elo of each bot; the best ones are shown, marked as approximate.
        """
        done, total, is_most = progress.done, progress.total, progress.is_most
        if self._num_before is None:
            self._num_before = done - 1
        now = self._clock()
        if self._quiet or not (now - self._drawn_at >= 1 if self._live else due):
            return
        self._drawn_at = now
        rate = 60 * (done - self._num_before) / max(now - self._began, 1e-9)
        progress = msgspec.structs.replace(progress, rate=rate)
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

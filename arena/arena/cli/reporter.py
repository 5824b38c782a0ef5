"""Reports the events of a running tournament; subclasses print them for people or for programs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple

from arena.cli.output import say
from arena.cli.progress import ProgressLine
from arena.coordinator.run_events import BotWithdrawn, DecisionFell, MatchFinished, MatchStarted, RunNotice
from arena_plugins import Termination

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
    """Returns the state of the sequential test; None if the tournament is not one."""

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
        self._progress.show(
            event.num_done,
            event.total,
            faults=self._num_faults,
            due=is_due,
            elo=elo,
            is_most=self._is_most,
        )

"""What the events of a running tournament have in common, however they are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.cli.output import say
from arena.tournament.events import MatchFinished, MatchStarted, Notice
from arena_plugins import Termination

if TYPE_CHECKING:
    from arena.cli.progress import Progress
    from arena.leaderboard.encounter import Scores
    from arena.leaderboard.tables import Table
    from arena.rating.encounter import EncounterCounts
    from arena.tournament.config import TournamentConfig
    from arena.tournament.events import Ended, Event
    from arena_db.records import TournamentRecord


class Reporter:
    """Counts what happens and shows progress and warnings on stderr; subclasses show results on stdout."""

    def __init__(
        self, tournament: TournamentRecord, config: TournamentConfig, scores: Scores, progress: Progress
    ) -> None:
        """Show a tournament of which `scores` knows the matches that are stored already."""
        self.num_warnings = 0
        self.tournament = tournament
        self.config = config
        self.scores = scores
        self._progress = progress
        self._num_faults = 0
        self._num_finished = 0

    def begin(self) -> None:
        """Say what is going to be played."""

    def started(self, event: MatchStarted) -> None:
        """Show that a match began."""

    def finished(self, event: MatchFinished, num_finished: int) -> None:
        """Show a finished match, the `num_finished`-th of this run."""

    def print_tables(self, event: MatchFinished) -> None:
        """Show ratings in between."""

    def results(self, tables: list[Table], counts: EncounterCounts | None) -> None:
        """Show what came of it; `counts` are those of a match of two bots."""

    def end(self, ended: Ended) -> None:
        """Show how the run ended."""

    def tell(self, event: Event) -> None:
        """Hear one event."""
        if isinstance(event, Notice):
            self.warn(event.text)
        elif isinstance(event, MatchStarted):
            with self._progress.aside():
                self.started(event)
        elif isinstance(event, MatchFinished):
            self._finished(event)
        else:
            self._progress.end()

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
        self.scores.add(event.record)
        interval = self.config.rating_interval
        is_due = interval > 0 and self._num_finished % interval == 0 and event.num_done < event.total
        with self._progress.aside():
            self.finished(event, self._num_finished)
            if is_due:
                self.print_tables(event)
        self._progress.show(
            event.num_done,
            event.total,
            faults=self._num_faults,
            due=is_due,
            leaders=self.scores.ticker.elo,
        )

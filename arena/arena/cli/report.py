"""Prints the events of a running tournament: lines that people and scripts read, or NDJSON."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import click
import msgspec

from arena.cli.output import emit_object, utc
from arena.tournament.events import Ended, MatchFinished, MatchStarted, Notice

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.leaderboard.encounter import Encounters
    from arena.tournament.config import TournamentConfig
    from arena.tournament.events import Event
    from arena_db.records import PlannedMatch, StoredMatch

RESULT = {"first": "1-0", "second": "0-1", "draw": "1/2-1/2", "void": "*"}
"""How outcomes are written."""


class Reporter:
    """Shows what happens; results go to stdout, progress and warnings to stderr."""

    def __init__(
        self,
        config: TournamentConfig,
        labels: list[str],
        encounters: Encounters,
        *,
        form: str,
        quiet: bool,
        print_tables: Callable[[], None],
    ) -> None:
        self.num_faults = 0
        self.num_warnings = 0
        self._config = config
        self._labels = labels
        self._encounters = encounters
        self._text = form == "text"
        self._quiet = quiet
        self._print_tables = print_tables
        self._progress = Progress(live=sys.stderr.isatty() and not quiet)
        self._num_finished = 0

    def tell(self, event: Event) -> None:
        """Show one event."""
        if isinstance(event, MatchStarted):
            self._started(event)
        elif isinstance(event, MatchFinished):
            self._finished(event)
        elif isinstance(event, Notice):
            self.warn(event.text)
        else:
            self._ended(event)

    def warn(self, text: str) -> None:
        """Print a warning to stderr."""
        self.num_warnings += 1
        self.say(f"warning: {text}")

    def say(self, text: str) -> None:
        """Print a remark to stderr."""
        self._progress.clear()
        click.echo(text, err=True)

    def _print(self, line: str) -> None:
        self._progress.clear()
        click.echo(line)

    def _started(self, event: MatchStarted) -> None:
        if not self._text:
            emit_object("match_started", msgspec.to_builtins(event))
        elif not self._quiet:
            self._print(f"Started game {event.number} of {event.total} ({event.first} vs {event.second})")

    def _finished(self, event: MatchFinished) -> None:
        record = event.record
        self.num_faults += "fault" in record.fault or record.termination not in _PLAYED
        self._num_finished += 1
        encounter = (
            self._encounters.add(record.number, record.outcome, record.match_hash) if record.rated else None
        )
        if not self._text:
            emit_object("match_finished", finished_object(event))
        elif not self._quiet:
            game = f"Finished game {record.number} ({event.first} vs {event.second})"
            self._print(f"{game}: {RESULT[record.outcome]} {{{record.reason}}}")
            if encounter is not None and len(self._labels) == 2:  # noqa: PLR2004 - a duel
                self._print_score(encounter)
        interval = self._config.rating_interval
        is_due = interval and self._num_finished % interval == 0 and event.num_done < event.total
        if is_due and self._text and not self._quiet and len(self._labels) > 2:  # noqa: PLR2004 - no duel
            self._progress.clear()
            self._print_tables()
        self._progress.show(
            event.num_done, event.total, self.num_faults, due=bool(is_due) and not self._quiet
        )

    def _print_score(self, encounter: int) -> None:
        from arena.rating.lines import score_line

        interval = self._config.score_interval
        if interval and self._num_finished % interval == 0:
            self._print(score_line(*self._names(encounter), self._encounters.count(encounter)))

    def print_encounters(self) -> None:
        """Print all that is known about each encounter: scores, Elo, pairs, and whether they are separated."""
        from arena.rating.lines import encounter_lines

        for encounter in self._encounters.encounters():
            counts = self._encounters.count(encounter)
            for line in encounter_lines(*self._names(encounter), counts):
                self._print(line)
            if counts.is_mostly_repeated:
                a, b = self._names(encounter)
                self.warn(
                    f"{a} and {b} repeat the same matches; more openings (--openings) give more to learn from"
                )

    def _names(self, encounter: int) -> tuple[str, str]:
        a, b = self._encounters.seats(encounter)
        return self._labels[a], self._labels[b]

    def _ended(self, event: Ended) -> None:
        self._progress.clear()
        if not self._text:
            emit_object("ended", msgspec.to_builtins(event))


_PLAYED = ("rules", "adjudicated", "resign", "aborted", "walkover")


def finished_object(event: MatchFinished) -> dict[str, Any]:
    """Give a finished match as a JSON object."""
    return {**match_object(event.record), "first": event.first, "second": event.second}


def match_object(record: Any) -> dict[str, Any]:  # noqa: ANN401 - a MatchRecord or a StoredMatch
    """Give a stored match as a JSON object; `first` and `second` are identities."""
    values = msgspec.to_builtins(record)
    values["started_at"] = utc(record.started_at)
    for key in ("fault", "versions"):
        values[key] = msgspec.json.decode(values[key]) if values[key] else None
    return values


class Progress:
    """One line on stderr, redrawn at most once a second; in a pipe one line where a table is due."""

    def __init__(self, *, live: bool) -> None:
        self._live = live
        self._began = self._shown_at = time.monotonic()
        self._num_begun: int | None = None
        self._is_shown = False

    def show(self, done: int, total: int, faults: int, *, due: bool) -> None:
        """Show how far the run is: done, rate, time left, faults."""
        now = time.monotonic()
        if self._num_begun is None:
            self._num_begun = done - 1
        if not (due if not self._live else now - self._shown_at >= 1):
            return
        self._shown_at = now
        rate = (done - self._num_begun) / max(now - self._began, 1e-9)
        left = (total - done) / rate if rate > 0 else 0.0
        minutes, seconds = divmod(round(left), 60)
        line = f"{done}/{total} matches ({100 * done // max(total, 1)}%)  {60 * rate:.1f}/min  ETA {minutes}:{seconds:02d}  faults {faults}"
        if self._live:
            filled = 20 * done // max(total, 1)
            click.echo(f"\r\x1b[K[{'#' * filled}{'.' * (20 - filled)}] {line}", nl=False, err=True)
            self._is_shown = True
        else:
            click.echo(line, err=True)

    def clear(self) -> None:
        """Take the line away before something else is printed."""
        if self._is_shown:
            click.echo("\r\x1b[K", nl=False, err=True)
            self._is_shown = False


def stored_encounters(planned: list[PlannedMatch], matches: list[StoredMatch]) -> Encounters:
    """Collect what is stored of a tournament."""
    from arena.leaderboard.encounter import Encounters

    encounters = Encounters(planned)
    encounters.add_stored(matches)
    return encounters

"""Prints a running tournament for people; programs parse some of these lines, so their format is fixed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from typing_extensions import override

from arena.cli.output import say
from arena.cli.reporter import Reporter
from arena.cli.standings import print_crosstable, print_event, print_refused, print_standings
from arena.coordinator.config import Refusal
from arena.naming import count_text
from arena.results.encounter_lines import encounter_lines, score_line, side_lines
from arena.watching.objects import RESULT

if TYPE_CHECKING:
    from arena.cli.reporter import Results
    from arena.coordinator.run_events import DecisionFell, Ended, MatchFinished, MatchStarted
    from arena.results.sequential import SprtReport


class TextReporter(Reporter):
    """Prints lines and tables; with `--quiet` only the final ones."""

    @override
    def begin(self) -> None:
        record = self.held.record
        if not self.held.quiet:
            many = "matches" if record.num_total is None else f"{record.num_total} matches"
            about = f"{many} of {record.game}, {record.pool.name}, seed {record.seed}"
            self.remark(f"{record.name}: {about}")

    @override
    def started(self, event: MatchStarted) -> None:
        if not self.held.quiet:
            place = count_text(event.number, event.total, " of ")
            say(f"Started game {place} ({event.first} vs {event.second})")

    @override
    def finished(self, event: MatchFinished, num_finished: int) -> None:
        if self.held.quiet:
            return
        record = event.record
        game = f"Finished game {record.number} ({event.first} vs {event.second})"
        say(f"{game}: {RESULT[record.outcome]} {{{record.reason}}}")
        interval = self.held.config.score_interval
        is_due = interval > 0 and num_finished % interval == 0 and event.num_done != event.total
        if self.held.is_match and record.rated and is_due:
            say(score_line(*self.held.scores.encounter(event.first, event.second)))

    @override
    def decided(self, event: DecisionFell) -> None:
        report = None if self.held.test is None else self.held.test()
        if report is not None and not self.held.quiet and report.then_rate:
            say(f"{report.llr_line()}")
            say(report.verdict())
            say(f"now {report.then_rate} rated pairs follow")

    @override
    def standings(self) -> None:
        if self.held.test is not None and not self.held.quiet:
            report = self.held.test()
            if not report.verdict():
                say(report.llr_line())
        elif not self.held.quiet and not self.held.is_match:
            print_standings(self.held.rate(), "table")

    @override
    def end(self, ended: Ended, results: Results) -> None:
        if results.report is not None:
            self._end_test(results.report)
        elif results.met is not None:
            a, b = self.held.labels
            for line in (*side_lines(a, results.met.counts), *encounter_lines(a, b, results.met)):
                say(line)
            if results.met.counts.is_mostly_repeated:
                self.warn(
                    "most matches repeat earlier ones; more openings (--openings) give more to learn from"
                )
        else:
            if not self.held.quiet:
                click.echo()
            print_crosstable(results.cross, "table")
            click.echo()
            print_standings(results.tables, "table")
        print_event(results.event)
        print_refused([Refusal(bot.bot, bot.why) for bot in self.held.refused])
        if ended.state != "finished":
            done = count_text(ended.num_done, ended.total, " of ")
            self.remark(f"stopped after {done} matches: {ended.reason}")
            say(f"Tournament was interrupted. To resume: arena resume {self.held.record.name}")

    def _end_test(self, report: SprtReport) -> None:
        """Print the result of a test: its matches, its cost, and its decision."""
        say(report.llr_line())
        say(f"Ptnml(0-2): {list(report.state.cells)}, {report.state.num_pairs} pairs")
        say(report.cost_line())
        say(report.verdict() or "not decided yet")

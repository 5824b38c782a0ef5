"""Prints the events of a running tournament as lines of a fixed format or as JSON objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import msgspec
from typing_extensions import override

from arena.cli.output import emit_object, say
from arena.cli.reporter import Reporter
from arena.cli.standings import (
    encounter_object,
    print_crosstable,
    print_event,
    print_refused,
    print_standings,
)
from arena.coordinator.config import Refusal
from arena.naming import count_text
from arena.results.encounter_lines import encounter_lines, score_line, side_lines
from arena.watching.objects import RESULT, match_object
from arena.watching.table_objects import event_objects, rating_objects

if TYPE_CHECKING:
    from arena.cli.reporter import Results
    from arena.coordinator.changes import BotChange
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
            say(f"Tournament was interrupted. To resume: {self.held.resume}")

    def _end_test(self, report: SprtReport) -> None:
        """Print the result of a test: its matches, its cost, and its decision."""
        say(report.llr_line())
        say(f"Ptnml(0-2): {list(report.state.cells)}, {report.state.num_pairs} pairs")
        say(report.cost_line())
        say(report.verdict() or "not decided yet")


class JsonReporter(Reporter):
    """Prints objects: begun, bot_changed, match_started, match_finished, encounter, rating, refused, ended.

    For a Swiss tournament or a knockout, objects of the types place and bracket are printed as well. For a
    sequential test, sprt replaces encounter and is printed repeatedly, and decided reports its decision.
    """

    @override
    def begin(self) -> None:
        record = self.held.record
        bots = self.held.labels
        self._emit(
            "begun",
            {
                "game": record.game,
                "pool": record.pool.name,
                "seed": record.seed,
                "bots": bots,
                "total": record.num_total,
                "num_done": record.num_done,
            },
        )

    @override
    def changed(self, change: BotChange) -> None:
        super().changed(change)
        self._emit(
            "bot_changed",
            {
                "bot": change.bot,
                "last_played_in": change.tournament,
                "content_before": change.was or None,
                "content": change.now,
            },
        )

    @override
    def started(self, event: MatchStarted) -> None:
        self._emit("match_started", msgspec.structs.asdict(event))

    @override
    def finished(self, event: MatchFinished, num_finished: int) -> None:
        ticker = self.held.scores.ticker
        self._emit(
            "match_finished",
            {
                **match_object(event.record, self.held.record.name, event.first, event.second),
                "num_done": event.num_done,
                "total": event.total,
                "ticker": {
                    "first": ticker.of(event.first),
                    "second": ticker.of(event.second),
                    "is_approximate": True,
                },
            },
        )

    @override
    def decided(self, event: DecisionFell) -> None:
        if self.held.test is not None:
            self._emit("decided", self.held.test().to_object())

    @override
    def standings(self) -> None:
        """Print the state of a sequential test; for other ratings there is `arena leaderboard`."""
        if self.held.test is not None:
            self._emit("sprt", self.held.test().to_object())

    @override
    def end(self, ended: Ended, results: Results) -> None:
        if results.report is not None:
            self._emit("sprt", results.report.to_object())
        elif results.met is not None:
            a, b = self.held.labels
            self._emit("encounter", encounter_object(a, b, results.met))
        for row in rating_objects(results.tables):
            self._emit("rating", row)
        for kind, row in event_objects(results.event):
            self._emit(kind, row)
        for bot in self.held.refused:
            self._emit("refused", {"bot": bot.bot, "cause": bot.why})
        resume = None if ended.state == "finished" else self.held.resume
        self._emit("ended", {**msgspec.structs.asdict(ended), "resume": resume})

    def _emit(self, kind: str, values: dict[str, object]) -> None:
        emit_object(kind, {"tournament": self.held.record.name, **values})

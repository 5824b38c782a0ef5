"""Prints a running tournament for programs: one JSON object a line, its `type` first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from typing_extensions import override

from arena.cli.output import emit_object
from arena.cli.reporter import Reporter
from arena.cli.standings import encounter_object
from arena.watching.objects import match_object
from arena.watching.table_objects import event_objects, rating_objects

if TYPE_CHECKING:
    from arena.cli.reporter import Results
    from arena.coordinator.changes import BotChange
    from arena.coordinator.run_events import DecisionFell, Ended, MatchFinished, MatchStarted


class JsonReporter(Reporter):
    """Prints objects: begun, bot_changed, match_started, match_finished, encounter, rating, refused, ended.

    A Swiss tournament or a knockout also has place and bracket. A sequential test has decided, and sprt in
    place of encounter, repeatedly.
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
        """Print the state of a sequential test; `arena leaderboard` has ratings in between."""
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
        resume = None if ended.state == "finished" else f"arena resume {self.held.record.name}"
        self._emit("ended", {**msgspec.structs.asdict(ended), "resume": resume})

    def _emit(self, kind: str, values: dict[str, object]) -> None:
        emit_object(kind, {"tournament": self.held.record.name, **values})

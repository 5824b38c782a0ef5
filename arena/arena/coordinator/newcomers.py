"""Seats the bots that join a tournament while it is run; withdraws those that cannot be started here.

The files of a bot may also be lost while it plays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.coordinator.restore import Missing, absent, find_again, reason_of
from arena.coordinator.run_events import BotWithdrawn
from arena.results.corrections import author

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from arena.coordinator.plan import Plan
    from arena.entrants import Competitor
    from arena_db.records import Entrant, TournamentRecord
    from arena_db.store import Store


class Newcomers:
    """Keeps the competitors of a plan as complete as the entrants of its tournament.

    A bot can join from a machine or an ARENA_HOME whose files the coordinator does not have. Such a bot is
    withdrawn, with the reason, before it is paired; all others play on.
    """

    def __init__(
        self, store: Store, tournament: TournamentRecord, plan: Plan, *, withdraws_lost: bool = False
    ) -> None:
        """Withdraw the newcomers that were found missing when the plan was restored.

        Args:
            store: contains the tournament; it holds its lease.
            tournament: its record.
            plan: its plan; bots that join are added to its competitors.
            withdraws_lost: whether a bot whose files are lost during play is withdrawn; otherwise its matches
                stay void, and a resume plays them.
        """
        self._withdraws_lost = withdraws_lost
        self._store = store
        self._tournament = tournament.id
        self._plan = plan
        self._withdrawn: list[BotWithdrawn] = []
        for bot in plan.aside:
            self._withdraw(bot.seat, bot.bot, bot.why)

    def seat(self, entrants: Iterable[Entrant]) -> bool:
        """Add the bots that joined or returned as competitors; return whether all of them can be started."""
        competitors = self._plan.competitors
        is_whole = True
        for was in entrants:
            is_new = was.seat == len(competitors)
            if is_new:
                competitors.append(absent(was))
            if was.state != "playing" or not competitors[was.seat].is_absent:
                continue
            found = self._find(was)
            if isinstance(found, Missing):
                self._withdraw(was.seat, was.label, reason_of(found, was))
                is_whole = False
            else:
                competitors[was.seat] = found
        return is_whole

    def find_anew(self, labels: Collection[str]) -> dict[str, Competitor]:
        """Look again for bots whose matches could not be played; return those that are there, by label.

        Args:
            labels: their labels.
        """
        competitors = self._plan.competitors
        there: dict[str, Competitor] = {}
        for was in self._store.entrants(self._tournament) if labels else ():
            if was.label not in labels or was.state != "playing" or was.seat >= len(competitors):
                continue
            found = self._find(was)
            if not isinstance(found, Missing):
                competitors[was.seat] = there[was.label] = found
            elif self._withdraws_lost:
                competitors[was.seat] = absent(was)
                self._withdraw(was.seat, was.label, reason_of(found, was))
        return there

    def withdraw(self, label: str, why: str) -> None:
        """Withdraw a bot, if it still plays."""
        for was in self._store.entrants(self._tournament):
            if was.label == label and was.state == "playing":
                self._withdraw(was.seat, label, why)

    def take_withdrawn(self) -> list[BotWithdrawn]:
        """Return the bots that were withdrawn since the last call."""
        withdrawn, self._withdrawn = self._withdrawn, []
        return withdrawn

    def _find(self, was: Entrant) -> Competitor | Missing:
        config = self._plan.config
        return find_again(was.bot.spec, was, margin_ms=config.timemargin, in_place=config.isolation == "none")

    def _withdraw(self, seat: int, label: str, reason: str) -> None:
        self._store.leave(self._tournament, seat, reason=reason, who=author())
        self._withdrawn.append(BotWithdrawn(label, reason))

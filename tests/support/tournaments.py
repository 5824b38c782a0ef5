"""Small tournaments for tests, played in a store of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from arena.coordinator.config import TournamentConfig
from arena.coordinator.event_publisher import EventPublisher
from arena.coordinator.hold import Goal, Listener, hold
from arena.coordinator.jobs import make_jobs
from arena.coordinator.lease import Lease
from arena.coordinator.orders import Orders
from arena.coordinator.plan import make_plan, store_plan
from arena.coordinator.planner import Planner
from arena.coordinator.prepare import PreparedTournament
from arena.coordinator.restore import restore_plan
from arena.coordinator.result_recorder import ResultRecorder
from arena.coordinator.run import Run, RunParts
from arena.coordinator.run_events import MatchFinished, MatchStarted, RunNotice
from arena.coordinator.stop import StopSignals
from arena_db.owner import current_owner
from arena_db.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from arena.coordinator.plan import Plan
    from arena.coordinator.run_events import Ended, Event
    from arena.executor.job import Job
    from arena.executor.pools import Pool
    from arena_db.records import LiveEvent, PlannedMatch, StoredMatch, TournamentRecord

TRIO = ("random", "minimax:depth=1", "mcts:playouts=20")
"""Bots whose moves depend only on their seeds."""


def config(*bots: str, **changes: Any) -> TournamentConfig:  # noqa: ANN401 - values of any option
    """Return a small tournament: tic-tac-toe, in this process, one pair per encounter."""
    quick: dict[str, Any] = {
        "game": "tic-tac-toe",
        "rounds": 1,
        "srand": 7,
        "executor": "inline",
        "isolation": "none",
        "require_tier": "T0",
        "st": 30.0,
    }
    return TournamentConfig(bots=bots, **(quick | changes))


class Sitting:
    """A tournament in a store, with everything that was published about it."""

    def __init__(self, path: Path, settings: TournamentConfig) -> None:
        self.store = Store.open(path, busy_ms=500)
        self.plan: Plan = make_plan(settings)
        self.tournament: TournamentRecord = store_plan(self.store, self.plan)
        self.events: list[Event] = []
        self.said: list[str] = []

    @classmethod
    def reopen(cls, path: Path) -> Self:
        """Reopen the first tournament of a store."""
        sitting = cls.__new__(cls)
        sitting.store = Store.open(path, busy_ms=500)
        tournament = sitting.store.tournaments.find(1)
        assert tournament is not None
        sitting.tournament, sitting.plan = tournament, restore_plan(sitting.store, tournament)
        sitting.events, sitting.said = [], []
        return sitting

    def jobs(self) -> list[Job]:
        """Return the matches left to play."""
        return make_jobs(self.tournament, self.plan, self.store.plans.unplayed(self.tournament.id))

    def matches_planned(self) -> list[PlannedMatch]:
        """Return the plan as far as it is stored."""
        return self.store.plans.planned(self.tournament.id)

    def batches(self) -> list[range]:
        """Return the numbers of each batch of the plan."""
        return [range(batch.first, batch.last + 1) for batch in self.store.plans.batches(self.tournament.id)]

    def planner(self, num_workers: int, store: Store | None = None) -> Planner:
        """Return the planner of the matches that are left; `store` may be the store of a claimed lease."""
        store = store or self.store
        tournament = store.tournaments.find(self.tournament.id) or self.tournament
        plan = restore_plan(store, tournament)
        return Planner(store, tournament, plan, num_workers=num_workers)

    def publisher(self, lease: Lease, **changes: Any) -> EventPublisher:  # noqa: ANN401 - values of any argument
        """Return the publisher of events to viewers."""
        usual: dict[str, Any] = {"num_workers": 1, "warn": self.said.append}
        publisher = EventPublisher(lease.store, self.tournament, **(usual | changes))
        publisher.expect(self.jobs(), self.tournament.num_total)
        return publisher

    def told(self) -> list[LiveEvent]:
        """Return what was published."""
        return list(self.store.events.after(0, tournament=self.tournament.id).events)

    def play(
        self,
        num_workers: int = 1,
        *,
        on_event: Callable[[Event], None] = lambda _: None,
        on_words: Callable[[str], None] = lambda _: None,
        goal: Callable[[], str] | None = None,
        goal_reached: Callable[[], bool] | None = None,
    ) -> Ended:
        """Play the remaining matches, as `arena resume` does."""

        def tell(event: Event) -> None:
            self.events.append(event)
            on_event(event)

        def say(words: str) -> None:
            self.said.append(words)
            on_words(words)

        tournament = self.store.tournaments.find(self.tournament.id) or self.tournament
        prepared = PreparedTournament(tournament, restore_plan(self.store, tournament), num_workers)
        return hold(self.store, prepared, Listener(tell, say), Goal(goal, goal_reached))

    def play_in(
        self,
        pool: Pool,
        on_event: Callable[[Event], None] = lambda _: None,
        *,
        planner: Planner | None = None,
    ) -> Ended:
        """Play the remaining matches in a pool of the test, as planned or by a planner of the test."""

        def tell(event: Event) -> None:
            self.events.append(event)
            on_event(event)

        tournament = self.store.tournaments.find(self.tournament.id) or self.tournament
        with Lease(self.store, tournament, current_owner()) as lease:
            planner = planner or self.planner(pool.num_workers, lease.store)
            recorder = ResultRecorder(lease.store, tournament, tell)
            orders = Orders(lease, StopSignals(), say=self.said.append)
            return Run(RunParts(planner, pool, orders), recorder, self.publisher(lease)).run()

    def state(self) -> str:
        """Return the state of the tournament in the store."""
        stored = self.store.tournaments.find(self.tournament.id)
        return "" if stored is None else stored.state

    def matches(self) -> list[StoredMatch]:
        """Return all stored matches, including void ones, by number and attempt."""
        return list(self.store.matches.of_tournament(self.tournament.id))

    def results(self) -> dict[int, tuple[str, str, tuple[int, ...]]]:
        """Return outcome, termination and actions of each finished match."""
        return {
            match.number: (match.outcome, match.termination, match.actions)
            for match in self.matches()
            if match.is_final
        }

    def assert_whole(self) -> None:
        """Assert that every planned match is stored exactly once, and that store and events agree."""
        numbers = [match.number for match in self.matches() if match.is_final]
        assert numbers == list(range(1, (self.tournament.num_total or 0) + 1))
        assert self.store.plans.unplayed(self.tournament.id) == []
        assert self.store.integrity.check() == []
        told = [event.record.number for event in self.events if isinstance(event, MatchFinished)]
        assert sorted(told) == [match.number for match in self.matches()]

    def started(self) -> list[int]:
        """Return the numbers of the matches that began, in order."""
        return [event.number for event in self.events if isinstance(event, MatchStarted)]

    def notices(self) -> list[str]:
        """Return the warnings."""
        return [event.text for event in self.events if isinstance(event, RunNotice)]

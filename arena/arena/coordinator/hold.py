"""Runs a stored tournament: claims its lease, starts workers, plays, and cleans up."""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, NamedTuple

from arena.coordinator.event_publisher import EventPublisher
from arena.coordinator.lease import Lease
from arena.coordinator.machines import open_pool
from arena.coordinator.orders import Orders
from arena.coordinator.planner import Planner
from arena.coordinator.rescue import rescuing
from arena.coordinator.result_recorder import ResultRecorder
from arena.coordinator.run import Run, RunParts, StopRules
from arena.coordinator.run_events import RunNotice
from arena.coordinator.stop import StopSignals
from arena.executor.workspace import workspace
from arena_db.owner import current_owner

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from arena.coordinator.prepare import PreparedTournament
    from arena.coordinator.run_events import Ended, Event
    from arena.executor.pools import Pool
    from arena_db.records import TournamentRecord
    from arena_db.store import Store


class Listener(NamedTuple):
    """The display of a run."""

    tell: Callable[[Event], None]
    """Called with every event."""
    say: Callable[[str], None]
    """Called with a text about what signals do."""


class Goal(NamedTuple):
    """The goal of a tournament; without one all planned matches are played."""

    progress: Callable[[], str] | None = None
    """Returns the progress towards the goal, as text."""
    is_reached: Callable[[], bool] | None = None
    """Returns whether the ratings are precise enough to stop."""


_NO_GOAL = Goal()


def hold(
    store: Store,
    prepared: PreparedTournament,
    listener: Listener,
    goal: Goal = _NO_GOAL,
    *,
    take_over: bool = False,
) -> Ended:
    """Play the rest of a stored tournament.

    Args:
        store: contains its plan and receives its results.
        prepared: the tournament and its plan.
        listener: the display of the run.
        goal: its goal.
        take_over: whether to replace a living holder that has been silent for 30 s.

    Raises:
        ConfigError: another process runs it, or its openings have changed since it began.
        LeaseLostError: another process has taken it over; all reported results are stored.
        MovedError: its store was removed, moved or replaced; the text names the file that has its results.
        ArenaError: worker processes do not start, or the schedule plans invalid matches.
        DatabaseError: the store cannot be written; all reported results are stored.
    """
    tournament, plan, num_workers = prepared.record, prepared.plan, prepared.num_workers
    with (
        # Left in reverse order: signals act as usual again, results of a lost store are rescued while the
        # lease is held, the lease is released, and last the folder of workers and bots is removed.
        workspace() as folder,
        Lease(store, tournament, current_owner(), take_over=take_over) as lease,
        rescuing(lease.store, tournament),
        StopSignals() as signals,
    ):
        store = lease.store
        # Read again, because only the holder of the lease sees the final number of remaining matches.
        tournament = store.tournaments.find(tournament.id) or tournament
        if tournament.num_total is not None:
            # More workers than matches would only take the time to start.
            num_workers = max(1, min(num_workers, tournament.num_total - tournament.num_done))
        planner = Planner(store, tournament, plan, num_workers=num_workers)
        orders = Orders(lease, signals, say=listener.say, max_time=plan.config.max_time)
        rules = StopRules(plan.config.no_recover, plan.config.rating_interval or 10, goal.is_reached)
        # Opened last, so that no worker starts for a tournament that this process may not run.
        with closing(open_pool(plan, num_workers, folder)) as pool:
            parts = RunParts(planner, pool, orders, rules)
            return play_out(store, tournament, parts, tell=listener.tell, progress=goal.progress)


def play_out(
    store: Store,
    tournament: TournamentRecord,
    parts: RunParts,
    *,
    tell: Callable[[Event], None],
    progress: Callable[[], str] | None = None,
) -> Ended:
    """Play the matches of a source until it is finished or stopped; store and publish them.

    Args:
        store: holds the lease of the tournament.
        tournament: its stored record.
        parts: the parts of the run; its pool stays open.
        tell: called with every event.
        progress: returns the progress towards the goal of the tournament, as text.

    Raises:
        LeaseLostError: another process has taken it over; all reported results are stored.
        MovedError: the store was removed, moved or replaced.
        ArenaError: worker processes do not start, or the source plans invalid matches.
        DatabaseError: the store cannot be written; all reported results are stored.
    """

    def warn(text: str) -> None:
        tell(RunNotice(text))

    publisher = EventPublisher(
        store, tournament, num_workers=parts.pool.num_workers, warn=warn, goal=progress
    )

    def tell_all(event: Event) -> None:
        publisher.tell(event)
        tell(event)

    recorder = ResultRecorder(store, tournament, tell_all)
    with _telling_how_it_ends(parts.pool, publisher):
        return Run(parts, recorder, publisher).run()


@contextmanager
def _telling_how_it_ends(pool: Pool, publisher: EventPublisher) -> Generator[None]:
    """Publish the last events at the end of a `with` block; after an error, abort the running matches."""
    try:
        yield
    # Without an abort, closing the pool would wait for matches whose results are no longer collected.
    except BaseException:
        pool.abort()
        publisher.change("ended", "the run failed")
        raise
    finally:
        publisher.tick(at_once=True)

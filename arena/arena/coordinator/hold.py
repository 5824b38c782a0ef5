"""Holds a stored event: takes its lease, starts workers, runs it, and leaves nothing behind."""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, NamedTuple

from arena.coordinator.events import Notice
from arena.coordinator.herald import Herald
from arena.coordinator.lease import Lease
from arena.coordinator.ledger import Ledger
from arena.coordinator.machines import open_pool
from arena.coordinator.orders import Orders
from arena.coordinator.planner import Planner
from arena.coordinator.rescue import rescuing
from arena.coordinator.run import Rules, Run
from arena.coordinator.stop import StopSignals
from arena.executor.workspace import workspace
from arena_db.owner import current_owner

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from arena.coordinator.events import Ended, Event
    from arena.coordinator.plan import Plan
    from arena.coordinator.source import JobSource
    from arena.executor.pools import Pool
    from arena_db.records import TournamentRecord
    from arena_db.store import Store


def hold(  # noqa: PLR0913 - a tournament, how to play it, and three ways to its people
    store: Store,
    tournament: TournamentRecord,
    plan: Plan,
    *,
    num_workers: int,
    tell: Callable[[Event], None],
    say: Callable[[str], None],
    goal: Callable[[], str] | None = None,
    goal_reached: Callable[[], bool] | None = None,
    take_over: bool = False,
) -> Ended:
    """Play what is left of a stored tournament.

    Args:
        store: where its plan lies and its results go.
        tournament: its record.
        plan: what `make_plan` or `restore_plan` gave.
        num_workers: matches at once.
        tell: hears every event.
        say: tells people what their signals do.
        goal: says how far it is on the way to what it is held for.
        goal_reached: whether the ratings are good enough to stop.
        take_over: whether a process that holds it and has been silent for 30 s is replaced, though it lives.

    Raises:
        ConfigError: another process runs it, or its openings are no longer those it began with.
        LeaseLostError: another process has taken it over; what was told of is stored.
        MovedError: its store was removed, moved or replaced; names the file that its results are in now.
        ArenaError: worker processes do not start, or the schedule plans what cannot be played.
        DatabaseError: the store cannot be written; what was told of is stored.
    """
    with (
        workspace() as folder,
        Lease(store, tournament, current_owner(), take_over=take_over) as lease,
        rescuing(lease.store, tournament),
        StopSignals() as signals,
    ):
        store = lease.store
        # Only the holder of the lease knows what is left.
        tournament = store.tournament(tournament.id) or tournament
        if tournament.num_total is not None:
            num_workers = max(1, min(num_workers, tournament.num_total - tournament.num_done))
        planner = Planner(store, tournament, plan, num_workers=num_workers)
        orders = Orders(store, tournament, lease, signals, say=say, max_time=plan.config.max_time)
        rules = Rules(plan.config.no_recover, plan.config.rating_interval or 10, goal_reached)
        with closing(open_pool(plan, num_workers, folder)) as pool:
            return play_out(store, tournament, RunParts(planner, pool, orders, rules), tell=tell, goal=goal)


class RunParts(NamedTuple):
    """What a run is made of."""

    source: JobSource
    """Of its matches."""
    pool: Pool
    """Where they are played."""
    orders: Orders
    """What stops it."""
    rules: Rules = Rules()
    """What in its results ends it early."""


def play_out(
    store: Store,
    tournament: TournamentRecord,
    parts: RunParts,
    *,
    tell: Callable[[Event], None],
    goal: Callable[[], str] | None = None,
) -> Ended:
    """Play the matches of a source to the end or to a stop, store them and let viewers see them.

    Args:
        store: as the holder of the lease writes it.
        tournament: as it stands in the store.
        parts: the parts of the run; its pool stays open.
        tell: hears every event.
        goal: as for `hold`.

    Raises:
        LeaseLostError: another process has taken it over; what was told of is stored.
        MovedError: the store was removed, moved or replaced.
        ArenaError: worker processes do not start, or the source plans what cannot be played.
        DatabaseError: the store cannot be written; what was told of is stored.
    """

    def warn(text: str) -> None:
        tell(Notice(text))

    source, pool, orders, rules = parts
    herald = Herald(store, tournament, num_workers=pool.num_workers, warn=warn, goal=goal)

    def tell_all(event: Event) -> None:
        herald.tell(event)
        tell(event)

    ledger = Ledger(store, tournament, tell_all)
    with _telling_how_it_ends(pool, herald):
        return Run(source, pool, ledger, orders, rules, herald=herald).run()


@contextmanager
def _telling_how_it_ends(pool: Pool, herald: Herald) -> Generator[None]:
    """Write the last events at the end of a `with` block; where it fails, end what is being played."""
    try:
        yield
    except BaseException:
        pool.abort()
        herald.change("ended", "the run failed")
        raise
    finally:
        herald.tick(at_once=True)

"""Holds a stored tournament: takes its lease, starts workers, runs it, and leaves nothing behind."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from arena.coordinator.events import Notice
from arena.coordinator.herald import Herald
from arena.coordinator.lease import Lease
from arena.coordinator.ledger import Ledger
from arena.coordinator.orders import Orders
from arena.coordinator.planner import Planner
from arena.coordinator.run import MAX_BATCH, Rules, Run
from arena.coordinator.stop import StopSignals
from arena.executor.pools import make_pool
from arena.executor.workspace import workspace
from arena_db.owner import current_owner

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.coordinator.events import Ended, Event
    from arena.coordinator.plan import Plan
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
    goal_reached: Callable[[], bool] | None = None,
) -> Ended:
    """Play what is left of a stored tournament.

    Args:
        store: where its plan lies and its results go.
        tournament: its record.
        plan: what `make_plan` or `restore_plan` gave.
        num_workers: matches at once.
        tell: hears every event.
        say: tells people what their signals do.
        goal_reached: whether the ratings are good enough to stop.

    Raises:
        ConfigError: another process runs it, or its openings are no longer those it began with.
        ArenaError: worker processes do not start, or the schedule plans what cannot be played.
        DatabaseError: the store cannot be written; what was told of is stored.
    """
    config = plan.config
    with workspace() as folder, Lease(store, tournament, current_owner()) as lease, StopSignals() as signals:
        # Only the holder of the lease knows what is left.
        tournament = store.tournament(tournament.id) or tournament
        if tournament.num_total is not None:
            num_workers = max(1, min(num_workers, tournament.num_total - tournament.num_done))
        planner = Planner(store, tournament, plan, num_workers=num_workers, batch_size=MAX_BATCH)
        herald = Herald(
            store,
            tournament,
            lease,
            num_workers=num_workers,
            warn=lambda text: tell(Notice(text)),
        )

        def tell_all(event: Event) -> None:
            herald.tell(event)
            tell(event)

        ledger = Ledger(store, tournament, lease, tell_all)
        orders = Orders(store, tournament, lease, signals, say=say, max_time=config.max_time)
        rules = Rules(config.no_recover, config.rating_interval or 10, goal_reached)
        with closing(make_pool(config.executor, num_workers, folder)) as pool:
            try:
                return Run(planner, pool, ledger, orders, rules, herald=herald).run()
            except BaseException:
                pool.abort()
                herald.change("ended", "the run failed")
                raise
            finally:
                herald.tick(at_once=True)

"""Holds a stored tournament: takes its lease, starts workers, runs it, and leaves nothing behind."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from arena.errors import ConfigError
from arena.executor.pools import make_pool
from arena.tournament.plan import make_jobs
from arena.tournament.run import Rules, Run
from arena.tournament.stop import StopSignals
from arena_db.owner import current_owner

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from arena.tournament.events import Ended, Event
    from arena.tournament.plan import Plan
    from arena_db.records import PlannedMatch, TournamentRecord
    from arena_db.store import Store


def hold(
    store: Store,
    tournament: TournamentRecord,
    plan: Plan,
    matches: Sequence[PlannedMatch],
    *,
    num_workers: int,
    tell: Callable[[Event], None],
    say: Callable[[str], None],
    goal_reached: Callable[[], bool] | None = None,
) -> Ended:
    """Play `matches` of a stored tournament.

    Args:
        store: where its plan lies and its results go.
        tournament: its record.
        plan: what `make_plan` or `restore_plan` gave.
        matches: those that are to be played.
        num_workers: matches at once.
        tell: hears every event.
        say: tells people what their signals do.
        goal_reached: whether the ratings are good enough to stop.

    Raises:
        ConfigError: another process runs it.
    """
    owner = current_owner()
    if not store.claim(tournament.id, owner):
        raise ConfigError(
            f"{tournament.name} is being run by another process; arena stop {tournament.name} stops it"
        )
    config = plan.config
    rules = Rules(config.max_time, config.no_recover, config.rating_interval or 10, goal_reached)
    try:
        with StopSignals(say) as signals, closing(make_pool(config.executor, num_workers)) as pool:
            jobs = make_jobs(tournament, plan, matches)
            return Run(
                store, tournament, jobs, pool, owner=owner, rules=rules, signals=signals, tell=tell
            ).run()
    finally:
        store.release(tournament.id, owner)

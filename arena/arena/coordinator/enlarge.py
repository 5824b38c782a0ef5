"""Adds rounds to a stored tournament."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from arena.coordinator.kinds import schedule_of
from arena.coordinator.planner import check_fixed
from arena.errors import ConfigError

if TYPE_CHECKING:
    from arena.coordinator.plan import Plan
    from arena_db.records import TournamentRecord
    from arena_db.store import Store


def enlarge(store: Store, tournament: TournamentRecord, plan: Plan, rounds: int) -> Plan:
    """Add rounds to a stored tournament; the matches planned so far stay unchanged.

    Returns:
        The plan with the new number of rounds; further matches are planned when they are needed.

    Raises:
        ConfigError: it has as many rounds already, or the matches planned so far would be others now.
    """
    # Enlarging a finished match means that its verdict was read once more; other types have no verdict.
    looks = plan.config.looks + (tournament.is_complete and plan.config.type == "match")
    config = msgspec.structs.replace(plan.config, rounds=rounds, looks=looks)
    if rounds <= plan.config.rounds:
        raise ConfigError(
            f"{tournament.name} has {plan.config.rounds} rounds already; give --rounds more than that"
        )
    source = schedule_of(config, plan.game, len(config.bots), tournament.plan_version)
    if source.fixed is None or source.is_adaptive:
        raise ConfigError(f"{tournament.name} cannot get more rounds; start a new tournament")
    check_fixed(store, tournament, source)
    store.reopen_plan(tournament.id, source.fixed.total, config.to_toml())
    return plan._replace(config=config, source=source)

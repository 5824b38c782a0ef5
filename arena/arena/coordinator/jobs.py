"""From planned matches to the jobs of workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.analysis import ADJUDICATION_NODES
from arena.executor.job import Job
from arena.match import match_seed
from arena.naming import match_address
from arena.schedules.protocol import RATED_ENCOUNTER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.coordinator.plan import Plan
    from arena_db.records import PlannedMatch, TournamentRecord

MAX_LOGGED = 50
"""Planned matches up to which the prints of bots are kept of every match, unless it is said otherwise."""


def make_jobs(tournament: TournamentRecord, plan: Plan, matches: Sequence[PlannedMatch]) -> list[Job]:
    """Turn planned matches into jobs for workers; all that is known of the whole plan is in `tournament`."""
    is_short = tournament.num_total is not None and tournament.num_total <= MAX_LOGGED
    return [
        Job(
            tournament=tournament.id,
            number=match.number,
            attempt=match.attempt,
            match=match_address(tournament.name, match.number),
            game=tournament.game,
            first=plan.competitors[match.first],
            second=plan.competitors[match.second],
            opening=match.opening,
            seed_first=match_seed(tournament.seed, match.encounter, match.match_no, 0),
            seed_second=match_seed(tournament.seed, match.encounter, match.match_no, 1),
            limit=plan.limit,
            init_s=plan.config.init_time,
            tier=plan.tier,
            require_limits=plan.config.require_limits,
            log=plan.config.log,
            bot_output=plan.config.bot_output or ("all" if is_short else "faults"),
            rated=plan.config.is_rated_by_itself or match.encounter == RATED_ENCOUNTER,
            adjudicate=ADJUDICATION_NODES if plan.config.adjudicate == "solver" else 0,
        )
        for match in matches
    ]

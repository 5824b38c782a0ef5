"""Turns planned matches into jobs for workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from arena.analysis import ADJUDICATION_NODES
from arena.executor.job import Job
from arena.match import match_seed
from arena.naming import match_address
from arena.schedules.protocol import RATED_ENCOUNTER

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Required

    from typing_extensions import Unpack

    from arena.coordinator.plan import Plan
    from arena.entrants import Competitor
    from arena.executor.job import BotOutput
    from arena.referee.timecontrol import TimeControl
    from arena.sandbox.limits.exact import Limits
    from arena_db.records import PlannedMatch, TournamentRecord

MAX_LOGGED = 50
"""Number of planned matches up to which the output of bots is kept for every match by default."""


class JobSettings(TypedDict, total=False):
    """The common settings of a tournament's matches; see `Job`, which has defaults for omitted ones."""

    limit: Required[TimeControl]
    init_s: Required[float]
    tier: Required[str]
    require_limits: Limits | None
    log: bool
    bot_output: BotOutput
    shows_clock: bool
    scales_time: bool
    adjudicate: int


def make_jobs(tournament: TournamentRecord, plan: Plan, matches: Sequence[PlannedMatch]) -> list[Job]:
    """Return the jobs of planned matches; facts about the whole plan come from `tournament`."""
    config = plan.config
    is_short = tournament.num_total is not None and tournament.num_total <= MAX_LOGGED
    settings = JobSettings(
        limit=plan.limit,
        init_s=config.init_time,
        tier=plan.tier,
        require_limits=config.require_limits,
        log=config.log,
        bot_output=config.bot_output or ("all" if is_short else "faults"),
        adjudicate=ADJUDICATION_NODES if config.adjudicate == "solver" else 0,
        scales_time=config.speed == "scale",
    )
    return [
        make_job(
            tournament,
            match,
            plan.competitors,
            rated=config.is_rated_by_itself or match.encounter == RATED_ENCOUNTER,
            **settings,
        )
        for match in matches
    ]


def make_job(
    tournament: TournamentRecord,
    match: PlannedMatch,
    bots: Sequence[Competitor],
    *,
    rated: bool,
    **settings: Unpack[JobSettings],
) -> Job:
    """Return the job of a planned match; its seeds depend only on the tournament and its place in the plan.

    Args:
        tournament: the tournament.
        match: the planned match.
        bots: competitors by seat.
        rated: whether it counts for ratings.
        **settings: the common settings of all its matches.
    """
    return Job(
        tournament=tournament.id,
        number=match.number,
        attempt=match.attempt,
        match=match_address(tournament.name, match.number),
        game=tournament.game,
        first=bots[match.first],
        second=bots[match.second],
        opening=match.opening,
        seed_first=match_seed(tournament.seed, match.encounter, match.match_no, 0),
        seed_second=match_seed(tournament.seed, match.encounter, match.match_no, 1),
        rated=rated,
        **settings,
    )

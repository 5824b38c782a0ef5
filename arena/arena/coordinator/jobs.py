"""From planned matches to the jobs of workers."""

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
"""Planned matches up to which the prints of bots are kept of every match, unless it is said otherwise."""


class JobSettings(TypedDict, total=False):
    """What the matches of an event have in common; see `Job`, which has a default for what is left out."""

    limit: Required[TimeControl]
    init_s: Required[float]
    tier: Required[str]
    require_limits: Limits | None
    log: bool
    bot_output: BotOutput
    shows_clock: bool
    adjudicate: int


def make_jobs(tournament: TournamentRecord, plan: Plan, matches: Sequence[PlannedMatch]) -> list[Job]:
    """Turn planned matches into jobs for workers; all that is known of the whole plan is in `tournament`."""
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
    """Turn a planned match into a job; its seeds follow from the event and its place in the plan alone.

    Args:
        tournament: the event.
        match: the planned match.
        bots: by seat.
        rated: whether it counts for ratings.
        **settings: the same for all matches of the event.
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

"""Builds the stored record of a match."""

from __future__ import annotations

import json
import platform
import sys
import time
from functools import cache
from typing import TYPE_CHECKING, Final

from arena.executor.job import cached_game
from arena.games.symmetry import match_hash
from arena.referee.verdict import Ending, reason
from arena.sandbox.tier_grades import record as isolation_record
from arena_db.records import MatchRecord
from arena_db.remark_codec import pack_remarks
from arena_plugins import Outcome, Termination
from arena_plugins.entries import version_of
from arena_plugins.thoughts import UNSAID

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arena.executor.job import Job
    from arena.match import MatchResult
    from arena_plugins.thoughts import Thoughts


def record_of(job: Job, result: MatchResult) -> MatchRecord:
    """Return the record of a match that was played."""
    return MatchRecord(
        tournament=job.tournament,
        number=job.number,
        attempt=job.attempt,
        first=job.first.record.identity,
        second=job.second.record.identity,
        outcome=result.outcome,
        termination=result.termination,
        reason=result.reason,
        rated=result.rated and job.rated,
        is_final=not result.termination.is_void,
        actions=result.actions,
        num_opening=result.num_opening,
        times_ms=result.times_ms,
        values=result.values,
        match_hash=match_hash(cached_game(job.game), result.actions),
        seed_first=job.seed_first,
        seed_second=job.seed_second,
        started_at=result.started_at,
        duration_ms=result.duration_ms,
        tier=result.tier,
        fault="" if result.fault is None else json.dumps(result.fault),
        versions=_versions(result.tier, job.scales_time),
        idle_cpu_first_ms=result.idle_cpu_ms[0],
        idle_cpu_second_ms=result.idle_cpu_ms[1],
        limits=result.limits,
        runtime_first=result.runtimes[0],
        runtime_second=result.runtimes[1],
        remarks=packed_remarks(result.infos),
    )


def packed_remarks(infos: Sequence[Thoughts | None]) -> bytes:
    """Return the remarks of both bots, packed for storage; a record stores their values separately."""
    return pack_remarks([None if info is UNSAID else info for info in infos])


def void_record(job: Job, termination: Termination, cause: str = "") -> MatchRecord:
    """Return the record of a match that the arena could not play, or not to its end; it is not final."""
    fault = json.dumps({"cause": cause}) if cause else ""
    labels = job.first.label, job.second.label
    why = reason(Ending(Outcome.VOID, termination, {"cause": cause}), labels)
    return _unplayed(job, Outcome.VOID, termination, why, fault)


def walkover_record(job: Job, *, first_is_out: bool, second_is_out: bool) -> MatchRecord:
    """Return the record of a match that is not played because a bot is quarantined; it is final."""
    if first_is_out and second_is_out:
        outcome, reason = Outcome.VOID, "Match void (both bots are quarantined)"
    elif first_is_out:
        outcome, reason = Outcome.SECOND, f"{job.second.label} wins by walkover"
    else:
        outcome, reason = Outcome.FIRST, f"{job.first.label} wins by walkover"
    return _unplayed(job, outcome, Termination.WALKOVER, reason)


def _unplayed(
    job: Job, outcome: Outcome, termination: Termination, reason: str, fault: str = ""
) -> MatchRecord:
    return MatchRecord(
        tournament=job.tournament,
        number=job.number,
        attempt=job.attempt,
        first=job.first.record.identity,
        second=job.second.record.identity,
        outcome=outcome,
        termination=termination,
        reason=reason,
        rated=False,
        is_final=not termination.is_void,
        actions=job.opening,
        num_opening=len(job.opening),
        times_ms=(0,) * len(job.opening),
        values=(None,) * len(job.opening),
        match_hash=match_hash(cached_game(job.game), job.opening),
        seed_first=job.seed_first,
        seed_second=job.seed_second,
        started_at=time.time(),
        duration_ms=0,
        tier=job.tier,
        fault=fault,
        versions=_versions(job.tier, job.scales_time),
    )


def note_machine(facts: Mapping[str, object]) -> None:
    """Include these facts about the worker machine in all further records of this process."""
    _machine.clear()
    _machine.update(facts)
    # The cached texts contain the facts that have just been replaced.
    _versions.cache_clear()


SCALE: Final = "scale"
"""Key of the factor for the seconds of bots in the facts about a machine; stored only if it was applied."""
_machine: dict[str, object] = {}
"""Facts about the worker machine; empty if the coordinator's own machine plays."""


@cache
def _versions(tier: str, scales_time: bool) -> str:  # noqa: FBT001 - a key of the cache
    # Only facts that are the same for many matches: the store keeps each such text once.
    facts: dict[str, object] = {
        "arena": version_of("bot-arena"),
        "python": platform.python_version(),
        "platform": f"{sys.platform} {platform.machine()}",
        "isolation": isolation_record(tier),
    }
    if _machine:
        unused = () if scales_time else (SCALE,)
        facts["machine"] = {key: value for key, value in _machine.items() if key not in unused}
    return json.dumps(facts)

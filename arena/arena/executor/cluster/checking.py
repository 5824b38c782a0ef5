"""Checks whether a record from another machine can be the result of its job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.errors import ArenaError
from arena.executor.job import cached_game
from arena.executor.logs import match_file
from arena.executor.prints import file_name
from arena.games.symmetry import match_hash
from arena_plugins import Outcome, Termination

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.executor.job import Job
    from arena.executor.logs import LogPart
    from arena_db.records import MatchRecord

_BY_RULES = frozenset({Termination.RULES})


def find_wrong(job: Job, record: MatchRecord) -> str:
    """Return how a record contradicts its job or the rules; empty if it does not.

    This protects against faulty machines, not against an attacker who holds a key. Bots, opening and seeds
    must be as planned, the actions legal, and the result and the hash must follow from them.

    Args:
        job: the planned match.
        record: the record that was received.
    """
    planned = (
        ("tournament", job.tournament, record.tournament),
        ("number", job.number, record.number),
        ("attempt", job.attempt, record.attempt),
        ("first bot", job.first.record.identity, record.first),
        ("second bot", job.second.record.identity, record.second),
        ("seed", (job.seed_first, job.seed_second), (record.seed_first, record.seed_second)),
        ("opening", job.opening, tuple(record.actions[: record.num_opening])),
        ("tier", job.tier, record.tier),
    )
    for what, wanted, found in planned:
        if wanted != found:
            return f"the {what} of match {job.number} is {found}, not {wanted}"
    if record.rated and not job.rated:
        return f"match {job.number} is rated, which it was not planned to be"
    num = len(record.actions)
    if len(record.times_ms) != num or len(record.values) != num:
        return f"match {job.number} has {num} actions and {len(record.times_ms)} times"
    return _find_illegal(job, record)


def logs_of(parts: Sequence[LogPart], jobs: Sequence[Job]) -> list[LogPart]:
    """Return the logs for files of these jobs and their bots; a slot may name no other file."""
    files = {
        (job.tournament_name, name)
        for job in jobs
        for name in (
            match_file(job.number, job.attempt),
            file_name(job.first.label),
            file_name(job.second.label),
        )
    }
    return [part for part in parts if (part.tournament, part.name) in files]


def _find_illegal(job: Job, record: MatchRecord) -> str:
    game = cached_game(job.game)
    state = game.initial_state()
    for ply, action in enumerate(record.actions):
        if action not in state.legal_actions:
            return f"action {action} at ply {ply} of match {job.number} is illegal"
        state = state.child(action)
    try:
        outcome, termination = Outcome(record.outcome), Termination(record.termination)
    except ValueError:
        return f"match {job.number} ended {record.outcome} by {record.termination}, which is no valid result"
    if termination in _BY_RULES:
        if not state.is_terminal:
            return f"match {job.number} ended by the rules, but its last position is not final"
        first = state.returns[0]
        by_rules = Outcome.DRAW if not first else Outcome.FIRST if first > 0 else Outcome.SECOND
        if outcome is not by_rules:
            return f"match {job.number} ended {outcome.value}, but by the rules it is {by_rules.value}"
    try:
        right = match_hash(game, record.actions)
    except ArenaError as error:
        return f"match {job.number}: {error}"
    return "" if right == record.match_hash else f"the hash of match {job.number} is not that of its actions"

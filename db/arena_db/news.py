"""Computes what records of matches change in the store: rows, marks of the plan, counts."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from arena_db.codec import pack_actions, pack_claims, pack_times, record_hash, same_part, setting_part
from arena_db.errors import RefusedError
from arena_db.summing import hash_opening

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arena_db.batch import BatchState, PlannedSeats
    from arena_db.records import MatchRecord

_Openings: TypeAlias = dict[tuple[int, ...], int]
"""Hashes of openings by their actions."""


@dataclass(slots=True, eq=False)
class Kind:
    """The shared part of many matches: seats, ending, and circumstances of play."""

    tally: tuple[Any, ...]
    """The key of the tally they count for: tournament, seats, outcome, termination, rated."""
    columns: tuple[Any, ...]
    """Seats, ids of the bots, outcome, termination, rated, is_final, tier, id of the versions."""
    same: bytes
    """The shared part of the hash of a record."""
    num_matches: int = 0


@dataclass(slots=True)
class News:
    """The changes of a batch of records besides the rows of its matches."""

    done: list[int] = field(default_factory=list[int])
    """Numbers of planned matches that are done; `void` has those with a void attempt."""
    void: list[int] = field(default_factory=list[int])
    kinds: dict[tuple[Any, ...], Kind] = field(default_factory=dict[tuple[Any, ...], Kind])
    openings: dict[tuple[int, ...], int] = field(default_factory=dict[tuple[int, ...], int])
    """Hashes of openings by their actions."""
    said: list[MatchRecord] = field(default_factory=list["MatchRecord"])
    """Records that have remarks."""


def collect(
    news: News, batch: BatchState, records: Sequence[MatchRecord], versions: Mapping[str, int]
) -> list[tuple[Any, ...]]:
    """Return the rows of the records that are not stored yet; later records of the batch see earlier ones.

    Args:
        news: collects the changes.
        batch: the stored state; updated with the new records.
        records: matches of its tournament.
        versions: ids of the version texts.

    Raises:
        RefusedError: no such planned match, other bots than planned, or a field that cannot be stored.
    """
    rows: list[tuple[Any, ...]] = []
    plans, done, stored, kinds = batch.plan, batch.done, batch.stored, news.kinds
    for record in records:
        number = record.number
        plan = plans.get(number)
        if plan is None:
            raise RefusedError(f"tournament {batch.tournament} has no planned match {number}")
        if stored and (number, record.attempt) in stored:
            continue
        if record.is_final:
            if number in done:
                continue
            done[number] = record.attempt
            news.done.append(number)
        else:
            if done.get(number) == record.attempt:
                continue
            stored.add((number, record.attempt))
            news.void.append(number)
        ending = (record.outcome, record.termination, record.rated, record.is_final)
        key = (plan, ending, record.tier, record.versions)
        kind = kinds.get(key)
        if kind is None:
            kind = kinds[key] = _kind(batch.tournament, plan, record, versions)
        kind.num_matches += 1
        if record.remarks:
            news.said.append(record)
        rows.append(_row(batch, plan, record, kind, news.openings))
    return rows


def hash_bytes(record: MatchRecord) -> bytes:
    """Return the hash of a match as bytes.

    Raises:
        RefusedError: it is not hexadecimal.
    """
    try:
        return bytes.fromhex(record.match_hash)
    except ValueError as error:
        raise RefusedError(
            f'match {record.number} has a hash that is not one: "{record.match_hash}"'
        ) from error


def _setting(
    record: MatchRecord,
) -> tuple[tuple[float | None, float | None], tuple[str | None, str | None, str | None]]:
    """Return the idle CPU times of both bots; and limits and runtimes, None if unknown."""
    first, second = record.idle_cpu_first_ms, record.idle_cpu_second_ms
    return (
        (None if first is None else _idle_ms(first), None if second is None else _idle_ms(second)),
        (record.limits or None, record.runtime_first or None, record.runtime_second or None),
    )


def _idle_ms(time_ms: float) -> float:
    # SQLite stores NaN as NULL and -0.0 as 0.0, which have other hashes.
    if not math.isfinite(time_ms):
        raise RefusedError(f"an idle CPU time is {time_ms} ms, which is not a finite number")
    return time_ms + 0.0


def _kind(tournament: int, plan: PlannedSeats, record: MatchRecord, versions: Mapping[str, int]) -> Kind:
    # Enum members as plain strings, which the drivers bind without conversion.
    outcome, termination, rated = str(record.outcome), str(record.termination), int(record.rated)
    is_final = int(record.is_final)
    seats = (plan.first_seat, plan.second_seat)
    texts = (plan.first.identity, plan.second.identity, outcome, termination, record.tier, record.versions)
    return Kind(
        tally=(tournament, *seats, outcome, termination, rated),
        columns=(
            *(*seats, plan.first.bot, plan.second.bot, outcome, termination, rated, is_final),
            *(record.tier, versions[record.versions]),
        ),
        same=same_part((tournament, *seats, rated, is_final), texts),
    )


def _row(
    batch: BatchState, plan: PlannedSeats, record: MatchRecord, kind: Kind, openings: _Openings
) -> tuple[Any, ...]:
    """Return the columns of a match after its id, in table order; cache the hash of its opening."""
    number, actions, times, values = record.number, record.actions, record.times_ms, record.values
    num_opening = record.num_opening
    if plan.first.identity != record.first or plan.second.identity != record.second:
        raise RefusedError(f"match {number} of tournament {batch.tournament} is planned for other bots")
    if not num_opening <= len(actions) == len(times) == len(values):
        raise RefusedError(
            f"match {number} has {len(actions)} actions, not as many times and values, or a longer opening"
        )
    packed = pack_actions(actions, batch.num_actions), pack_times(times), pack_claims(values)
    match_hash = hash_bytes(record)
    opening = actions[:num_opening]
    opening_hash = openings.get(opening)
    if opening_hash is None:
        opening_hash = openings[opening] = hash_opening(pack_actions(opening, batch.num_actions))
    attempt, reason, fault, started_at = record.attempt, record.reason, record.fault, float(record.started_at)
    seed_first, seed_second, duration_ms = record.seed_first, record.seed_second, record.duration_ms
    numbers = (number, attempt, num_opening, seed_first, seed_second, duration_ms, len(kind.same))
    idle, texts = _setting(record)
    setting = setting_part(idle, texts)
    whole = record_hash(kind.same, numbers, started_at, reason, fault, (*packed, match_hash), setting)
    # One plain tuple without unpacking parts of it: unpacking took a tenth of the time of this function.
    first_seat, second_seat, first_bot, second_bot, outcome, ending, rated, is_final, tier, versions = (
        kind.columns
    )
    return (
        batch.tournament,
        number,
        attempt,
        first_seat,
        second_seat,
        first_bot,
        second_bot,
        outcome,
        ending,
        reason,
        rated,
        is_final,
        packed[0],
        num_opening,
        packed[1],
        packed[2],
        bytearray(match_hash),
        seed_first,
        seed_second,
        started_at,
        duration_ms,
        tier,
        fault,
        versions,
        bytearray(whole),
        *idle,
        *texts,
        len(actions),
        opening_hash,
    )

"""The checks of a record that another machine sends."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from arena.executor.cluster.messages import shifted
from arena.executor.cluster.pool import find_wrong, logs_of
from arena.executor.logs import LogPart
from arena.executor.pools import InlinePool
from arena.executor.record import void_record
from arena_plugins import Termination
from tournaments import config

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.coordinator.config import TournamentConfig
    from arena.executor.job import Job
    from arena_db.records import MatchRecord

    JobsOf = Callable[[TournamentConfig], list[Job]]


@pytest.fixture
def played(jobs_of: JobsOf) -> list[tuple[Job, MatchRecord]]:
    # These bots compile nothing; compiling could end the batch early on a busy machine.
    jobs = jobs_of(config("random", "strange", openings="auto:plies=2", rounds=3))
    pool = InlinePool()
    records = pool.submit(jobs, pool.slots()[0], lambda: None).result()
    pool.close()
    return list(zip(jobs, records, strict=True))


def test_honest_records_are_believed(played: list[tuple[Job, MatchRecord]]) -> None:
    assert {find_wrong(job, record) for job, record in played} == {""}
    job, _ = played[0]
    assert find_wrong(job, void_record(job, Termination.ARENA_ERROR, "why")) == ""


def test_logs_are_kept_for_the_files_of_a_batch_only(played: list[tuple[Job, MatchRecord]]) -> None:
    jobs = [job for job, _ in played[:2]]
    event = jobs[0].tournament_name
    own = [
        LogPart(event, name, b"x", "output") for name in ("1.jsonl", "2.jsonl", "random.log", "strange.log")
    ]
    foreign = [
        LogPart(event, "3.jsonl", b"x", "asked"),
        LogPart(event, "other.log", b"x", "output"),
        LogPart(event, "../random.log", b"x", "output"),
        LogPart("another", "random.log", b"x", "output"),
        LogPart("../..", "random.log", b"x", "output"),
        LogPart(event, "/etc/passwd", b"x", "asked"),
    ]
    assert logs_of([*foreign, *own], jobs) == own


def swapped(record: MatchRecord) -> str:
    return {"first": "second", "second": "draw", "draw": "first"}[record.outcome]


def lies(record: MatchRecord) -> list[tuple[str, dict[str, Any]]]:
    """Return the message of each invalid record, and the changed fields."""
    actions = record.actions
    shorter = {"actions": actions[:-1], "times_ms": record.times_ms[:-1], "values": record.values[:-1]}
    return [
        ("the tournament", {"tournament": record.tournament + 1}),
        ("the number", {"number": record.number + 1}),
        ("the attempt", {"attempt": record.attempt + 1}),
        ("the first bot", {"first": record.second}),
        ("the second bot", {"second": record.first}),
        ("the seed", {"seed_first": record.seed_first ^ 1}),
        ("the seed", {"seed_second": record.seed_second ^ 1}),
        ("the opening", {"num_opening": 1}),
        ("the tier", {"tier": "T3"}),
        ("is illegal", {"actions": (*actions[:-1], actions[0])}),
        ("is illegal", {"actions": (*actions[:-1], 99)}),
        ("the rules, but its last position is not final", shorter),
        ("but by the rules it is", {"outcome": swapped(record)}),
        ("which is no valid result", {"outcome": "won"}),
        ("which is no valid result", {"termination": "boredom"}),
        ("the hash", {"match_hash": "0" * 64}),
    ]


def test_lies_are_found(played: list[tuple[Job, MatchRecord]]) -> None:
    for job, record in played:
        for words, changes in lies(record):
            assert words in find_wrong(job, dataclasses.replace(record, **changes))


def test_times_are_those_of_the_actions(played: list[tuple[Job, MatchRecord]]) -> None:
    job, record = played[0]
    assert "actions and" in find_wrong(job, dataclasses.replace(record, times_ms=record.times_ms[1:]))
    assert "actions and" in find_wrong(job, dataclasses.replace(record, values=record.values[1:]))


def test_a_match_of_a_test_is_not_rated(played: list[tuple[Job, MatchRecord]]) -> None:
    job, record = played[0]
    assert "is rated" in find_wrong(msgspec.structs.replace(job, rated=False), record)


@pytest.mark.parametrize(("ahead", "shift"), [(0.049, 0.0), (-0.049, 0.0), (0.06, 0.06), (-3600.0, -3600.0)])
def test_times_are_converted_between_clocks_that_differ(
    played: list[tuple[Job, MatchRecord]], ahead: float, shift: float
) -> None:
    records = [record for _, record in played]
    found = shifted(records, ahead)
    assert [record.started_at for record in found] == [record.started_at + shift for record in records]
    assert [record.number for record in found] == [record.number for record in records]

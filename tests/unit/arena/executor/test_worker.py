from __future__ import annotations

import dataclasses
import os
import platform
from typing import TYPE_CHECKING

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.executor import worker
from arena.executor.record import void_record, walkover_record
from arena.executor.worker import Began, Control, play_batch
from arena_plugins import Termination
from tournaments import TRIO, config

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from arena.coordinator.config import TournamentConfig
    from arena.executor.job import Job

    JobsOf = Callable[[TournamentConfig], list[Job]]


@pytest.fixture
def told() -> list[Began]:
    return []


@pytest.fixture
def control(told: list[Began]) -> Iterator[Control]:
    control = Control(told.append)
    yield control
    control.close()


def test_a_batch_is_played_in_order(
    jobs_of: JobsOf, control: Control, told: list[Began], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "BATCH_S", 600.0)
    jobs = jobs_of(config(*TRIO))
    records = play_batch(jobs, control)

    assert told == [(os.getpid(), number) for number in range(1, 7)]
    for job, record in zip(jobs, records, strict=True):
        assert (record.tournament, record.number, record.attempt) == (job.tournament, job.number, 0)
        assert (record.first, record.second) == (job.first.record.identity, job.second.record.identity)
        assert (record.seed_first, record.seed_second) == (job.seed_first, job.seed_second)
        assert (record.termination, record.rated, record.is_final, record.tier) == ("rules", True, True, "T0")
        assert record.actions[: record.num_opening] == job.opening
        versions = msgspec.json.decode(record.versions)
        assert versions.keys() == {"arena", "python", "platform", "isolation"}
        assert versions["isolation"]["tier"] == record.tier


@given(st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1))
def test_news_survives_its_pipe(pid: int, number: int) -> None:
    assert Began.decode(Began(pid, number).encode()) == Began(pid, number)


def test_a_stop_comes_between_two_matches(jobs_of: JobsOf, told: list[Began]) -> None:
    control = Control(told.append, must_stop=lambda: len(told) == 2)
    assert [record.number for record in play_batch(jobs_of(config(*TRIO)), control)] == [1, 2]
    control.close()


def test_an_abort_comes_between_two_moves(jobs_of: JobsOf, told: list[Began]) -> None:
    answers = iter([False, False, True])
    control = Control(told.append, must_abort=lambda: next(answers))
    (record,) = play_batch(jobs_of(config(*TRIO))[:1], control)
    assert (record.termination, record.is_final, record.rated) == ("aborted", False, False)
    assert len(record.actions) == record.num_opening + 2
    control.close()


def test_a_batch_that_takes_too_long_begins_no_match(
    jobs_of: JobsOf, control: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "BATCH_S", 0.0)
    assert play_batch(jobs_of(config(*TRIO)), control) == []


def test_a_bot_that_cannot_be_loaded_costs_its_matches(jobs_of: JobsOf, control: Control) -> None:
    first, second = jobs_of(config(*TRIO))[:2]
    broken = msgspec.structs.replace(first, first=msgspec.structs.replace(first.first, entry="nowhere"))
    records = play_batch([broken, second], control)
    assert [record.termination for record in records] == ["arena_error", "rules"]
    assert (records[0].outcome, records[0].rated, records[0].is_final) == ("void", False, False)
    assert "No module named 'nowhere'" in records[0].fault


def test_outside_of_a_worker_it_needs_a_control() -> None:
    with pytest.raises(RuntimeError, match="needs a control"):
        play_batch([])


def test_how_a_match_was_run_is_recorded(jobs_of: JobsOf, control: Control) -> None:
    (job, *_) = jobs_of(config(*TRIO))
    (here,) = play_batch([job], control)
    assert (here.idle_cpu_first_ms, here.idle_cpu_second_ms, here.limits) == (None, None, "")
    (job, *_) = jobs_of(config(*TRIO, isolation="T1"))
    (apart,) = play_batch([job], control)
    assert apart.tier == "T1"
    assert None not in {apart.idle_cpu_first_ms, apart.idle_cpu_second_ms}
    runtime = f"python {platform.python_version()}"
    assert (apart.limits, apart.runtime_first, apart.runtime_second) == ("polled", runtime, runtime)


def test_own_limits_go_before_the_tournaments(jobs_of: JobsOf, control: Control) -> None:
    (job, *_) = jobs_of(config("mcts:playouts=500,nodes=1", "mcts:playouts=500", nodes=2))
    (record,) = play_batch([job], control)
    # By one playout the value is one result.
    assert {abs(value) for value in record.values[record.num_opening :: 2] if value is not None} <= {0.0, 1.0}


def test_records_of_matches_that_were_not_played(jobs_of: JobsOf) -> None:
    (job, *_) = jobs_of(config(*TRIO))
    void = void_record(job, Termination.ABORTED)
    assert (void.outcome, void.reason, void.fault, void.is_final) == (
        "void",
        "Match void (aborted)",
        "",
        False,
    )
    assert void_record(job, Termination.ARENA_ERROR, "why").fault == '{"cause": "why"}'
    first, second, both = (
        walkover_record(job, first_is_out=one, second_is_out=two)
        for one, two in ((True, False), (False, True), (True, True))
    )
    assert (first.outcome, first.reason) == ("second", f"{job.second.label} wins by walkover")
    assert (second.outcome, second.reason) == ("first", f"{job.first.label} wins by walkover")
    assert (both.outcome, both.reason) == ("void", "Match void (both bots are quarantined)")
    for record in (first, second, both):
        assert (record.termination, record.rated, record.is_final) == ("walkover", False, True)
        assert record.actions == job.opening
        assert dataclasses.replace(record, outcome="x", reason="x", started_at=0) == dataclasses.replace(
            first, outcome="x", reason="x", started_at=0
        )

from __future__ import annotations

import dataclasses
import platform
from typing import TYPE_CHECKING

import msgspec
import pytest

from arena.executor import worker
from arena.executor.record import void_record, walkover_record
from arena.executor.slots import Slot
from arena.executor.streaming import MatchStreamer
from arena.executor.worker import Began, SlotCallbacks, make_control, play_batch
from arena_plugins import Termination
from tournaments import TRIO, config

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from arena.coordinator.config import TournamentConfig
    from arena.executor.job import Job
    from arena.executor.worker import Control
    from arena_db.records import MatchRecord

    JobsOf = Callable[[TournamentConfig], list[Job]]

HERE = Slot.here(0)


@pytest.fixture
def told() -> list[Began]:
    return []


@pytest.fixture
def control(told: list[Began]) -> Iterator[Control]:
    control = make_control(SlotCallbacks(HERE, told.append))
    yield control
    control.close()


def test_a_batch_is_played_in_order(
    jobs_of: JobsOf, control: Control, told: list[Began], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "BATCH_S", 600.0)
    jobs = jobs_of(config(*TRIO))
    records = play_batch(jobs, control)

    assert told == [(HERE, number) for number in range(1, 7)]
    for job, record in zip(jobs, records, strict=True):
        assert (record.tournament, record.number, record.attempt) == (job.tournament, job.number, 0)
        assert (record.first, record.second) == (job.first.record.identity, job.second.record.identity)
        assert (record.seed_first, record.seed_second) == (job.seed_first, job.seed_second)
        assert (record.termination, record.rated, record.is_final, record.tier) == ("rules", True, True, "T0")
        assert record.actions[: record.num_opening] == job.opening
        versions = msgspec.json.decode(record.versions)
        assert versions.keys() == {"arena", "python", "platform", "isolation"}
        assert versions["isolation"]["tier"] == record.tier


def test_a_stop_comes_between_two_matches(jobs_of: JobsOf, told: list[Began]) -> None:
    control = make_control(SlotCallbacks(HERE, told.append, must_stop=lambda: len(told) == 2))
    assert [record.number for record in play_batch(jobs_of(config(*TRIO)), control)] == [1, 2]
    control.close()


def test_an_abort_comes_between_two_moves(jobs_of: JobsOf, told: list[Began]) -> None:
    answers = iter([False, False, True])
    control = make_control(SlotCallbacks(HERE, told.append, must_abort=lambda: next(answers)))
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


@pytest.mark.parametrize(("part_s", "expected"), [(0.0, [1] * 5), (600.0, [])])
def test_results_are_delivered_while_their_batch_goes_on(
    jobs_of: JobsOf, monkeypatch: pytest.MonkeyPatch, part_s: float, expected: list[int]
) -> None:
    monkeypatch.setattr(worker, "BATCH_S", 600.0)
    monkeypatch.setattr(worker, "PART_S", part_s)
    parts: list[list[MatchRecord]] = []
    control = make_control(SlotCallbacks(HERE, deliver=parts.append))
    rest = play_batch(jobs_of(config(*TRIO)), control)
    assert [len(part) for part in parts] == expected
    assert [record.number for part in (*parts, rest) for record in part] == [1, 2, 3, 4, 5, 6]
    control.close()


@pytest.mark.parametrize("delivers", [True, False])
def test_results_of_matches_that_can_be_watched_come_at_once(
    jobs_of: JobsOf, monkeypatch: pytest.MonkeyPatch, *, delivers: bool
) -> None:
    for name, value in (("BATCH_S", 600.0), ("PART_S", 600.0), ("SEEN_S", 0.0)):
        monkeypatch.setattr(worker, name, value)
    parts: list[list[MatchRecord]] = []

    def publish(message: bytes) -> bool:
        return bool(message)

    callbacks = SlotCallbacks(HERE, deliver=parts.append if delivers else None, publish=publish)
    control = make_control(callbacks, quiet_s=0.0, is_threaded=False)
    assert isinstance(control.streamer, MatchStreamer)
    rest = play_batch(jobs_of(config(*TRIO)), control)
    # If nothing is delivered in between, the batch ends early instead.
    assert ([len(part) for part in parts], len(rest)) == (([1] * 5, 1) if delivers else ([], 1))
    control.close()


@pytest.mark.usefixtures("compiled_bots")
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
    # With one playout the value is a single result.
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

"""Worker machines as a pool: real slots on this machine, a real scheduler on loopback."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import time
from concurrent.futures import wait
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import msgspec
import pytest

from arena.executor.cluster.facts import find_facts
from arena.executor.cluster.private import PrivateCluster
from arena.executor.cluster.setups import SlotSetup
from arena.executor.pools import InlinePool
from arena.executor.prints import read_prints
from arena.executor.slots import PoolLostError, Slot, WorkerLostError, WrongResultError
from arena.own_python import own_python
from arena.referee.timecontrol import TimeControl
from cluster_pools import (
    DEADLINE_S,
    PLAIN,
    SIX,
    await_thought,
    await_true,
    begin,
    joined,
    nothing,
    play,
    play_all,
    slot_pids,
    waiting,
)
from rogue_slots import rogue
from tournaments import config

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from pathlib import Path

    from arena.coordinator.config import TournamentConfig
    from arena.executor.cluster.pool import ClusterPool
    from arena.executor.job import Job
    from arena_db.records import MatchRecord

    JobsOf = Callable[[TournamentConfig], list[Job]]


def moves(records: Sequence[MatchRecord]) -> list[MatchRecord]:
    return [
        dataclasses.replace(record, started_at=0, duration_ms=0, times_ms=(), versions="")
        for record in records
    ]


def test_it_gives_the_same_records_as_this_process(jobs_of: JobsOf, pool: ClusterPool) -> None:
    jobs = jobs_of(config(*PLAIN, openings="auto:plies=1", rounds=4))
    records = play_all(pool, jobs)
    with closing(InlinePool()) as here:
        assert moves(records) == moves(play_all(here, jobs))
    facts = {record.number: msgspec.json.decode(record.versions)["machine"]["id"] for record in records}
    assert set(facts.values()) == {pool.slots()[0].machine}
    assert {began.number for began in pool.news()} == {job.number for job in jobs}


def test_after_a_stop_no_match_begins(jobs_of: JobsOf, pool: ClusterPool, tmp_path: Path) -> None:
    # A slot may receive the stop after its next match has begun, which is then played.
    for number in range(20):
        folder = tmp_path / str(number)
        folder.mkdir()
        jobs = waiting(jobs_of, folder)
        pool.news()
        future = begin(pool, jobs, pool.slots()[0])
        pool.stop()
        other = pool.submit(jobs[1:], pool.slots()[1], nothing)
        assert other.result(DEADLINE_S) == []
        (folder / "gate").touch()
        wait([future], DEADLINE_S)
        played = [record.number for part in (*pool.results(), future.result(0)) for record in part]
        pool.go()
        if played == [1]:
            break
        assert played == [1, 2]
    else:
        pytest.fail("no slot stopped")
    assert [record.number for record in play(pool, jobs[1:], pool.slots()[1])] == [2]


def test_batches_are_given_back_while_a_slot_plays(
    jobs_of: JobsOf, pool: ClusterPool, tmp_path: Path
) -> None:
    jobs, slot = waiting(jobs_of, tmp_path, rounds=2), pool.slots()[0]
    endless = waiting(jobs_of, tmp_path / "without a gate")
    first = begin(pool, jobs[:2], slot)
    second, third = pool.submit(endless, slot, nothing), pool.submit(jobs[2:3], slot, nothing)
    assert not first.cancel(), "nobody knows yet"
    assert not second.cancel()
    # The slot does not wait for its match, which does not end yet.
    assert second.result(DEADLINE_S) == []
    assert not first.done()
    assert not third.done()
    (tmp_path / "gate").touch()
    assert not wait([first, third], DEADLINE_S).not_done, "what was given back is not played"
    # The slot had already been informed that the second match of its first batch is not wanted either.
    played = [record.number for part in pool.results() for record in part]
    assert played == [jobs[0].number, jobs[2].number]
    assert [record.number for record in play(pool, jobs[1:2], slot)] == [jobs[1].number]


def test_a_killed_slot_fails_its_batches_and_has_a_successor(
    jobs_of: JobsOf, cluster: PrivateCluster, pool: ClusterPool, tmp_path: Path
) -> None:
    jobs = waiting(jobs_of, tmp_path)
    slot = pool.slots()[0]
    playing = begin(pool, jobs[:1], slot)
    behind = pool.submit(jobs[1:], slot, nothing)
    os.kill(slot_pids(cluster)[slot.number], signal.SIGKILL)
    for future in (playing, behind):
        error = future.exception(DEADLINE_S)
        assert isinstance(error, WorkerLostError)
        assert error.slot == slot
    late = pool.submit(jobs, slot, nothing)
    assert isinstance(late.exception(DEADLINE_S), WorkerLostError)
    await_true(lambda: len(pool.slots()) == 2, "no successor")
    successor = next(each for each in pool.slots() if each.number == slot.number)
    assert successor.start != slot.start
    (tmp_path / "gate").touch()
    assert [record.number for record in play(pool, jobs[:1], successor)] == [1]


def test_of_matches_that_a_slot_lost_exactly_the_deadly_one_is_blamed_and_played_again(
    jobs_of: JobsOf, pool: ClusterPool
) -> None:
    """The matches are so short that at first the deadly one is not reported and no result is delivered."""
    deadly_seed = jobs_of(config(*PLAIN, rounds=4))[6].seed_second
    jobs = jobs_of(config("random", f"strange:kill-seed={deadly_seed}", rounds=4))
    last: list[list[int]] = []
    for is_suspect in (False, True, True):
        await_true(lambda: len(pool.slots()) == 2, "no successor")
        slot = pool.slots()[0]
        future = pool.submit(jobs, slot, nothing)
        assert isinstance(future.exception(DEADLINE_S), WorkerLostError)
        over = [record.number for part in pool.results() for record in part]
        assert over == [job.number for job in jobs[:6] if is_suspect]
        # On a busy machine the first time perhaps no start at all.
        last.append([began.number for began in pool.news() if began.slot == slot][-1:])
    assert last[1:] == [[jobs[6].number]] * 2


def test_an_abort_ends_matches_that_would_go_on(
    jobs_of: JobsOf, cluster: PrivateCluster, pool: ClusterPool, tmp_path: Path
) -> None:
    jobs = waiting(jobs_of, tmp_path)
    future = begin(pool, jobs, pool.slots()[0])
    await_thought(tmp_path)
    pool.abort()
    assert isinstance(future.exception(DEADLINE_S), WorkerLostError)
    with joined(cluster) as other:
        records = play_all(other, jobs_of(SIX))
    assert len(records) == 6, "other runs go on"


def test_an_abort_ends_the_batch_that_waits_behind_the_aborted_one(
    jobs_of: JobsOf, pool: ClusterPool, tmp_path: Path
) -> None:
    slot = pool.slots()[0]
    futures = [begin(pool, waiting(jobs_of, tmp_path), slot), pool.submit(jobs_of(SIX), slot, nothing)]
    await_thought(tmp_path)
    pool.abort()
    # The match ends by itself, so the slot usually survives; on a busy machine it may be killed first.
    time.sleep(0.2)
    (tmp_path / "gate").touch()
    for future in futures:
        assert isinstance(future.exception(DEADLINE_S), WorkerLostError | None)


def test_a_coordinator_that_leaves_frees_its_slots(
    jobs_of: JobsOf, cluster: PrivateCluster, pool: ClusterPool, tmp_path: Path
) -> None:
    with joined(cluster) as other:
        old = set(other.slots())
        for slot in old:
            begin(other, waiting(jobs_of, tmp_path), slot)
        await_thought(tmp_path, 2)
    # The gate stays closed: the slots end, and new ones start.
    await_true(lambda: len(set(pool.slots()) - old) == 2, "no successors")
    assert len(play_all(pool, jobs_of(SIX))) == 6


def test_a_slot_of_half_the_speed_gives_bots_twice_the_time_and_its_records_say_so(
    jobs_of: JobsOf, cluster: PrivateCluster, tmp_path: Path
) -> None:
    own = TimeControl.parse("60+0.5", None, None)
    jobs = [
        msgspec.structs.replace(job, scales_time=True, second=msgspec.structs.replace(job.second, limit=own))
        for job in jobs_of(config(*PLAIN, st=5, rounds=1))
    ]
    with joined(cluster) as pool, slot_of(cluster, tmp_path, speed=0.5) as slot:
        await_true(lambda: slot in pool.slots(), "the slot does not join")
        record, *_ = play(pool, jobs[:1], slot)
        plain, *_ = play(pool, jobs_of(SIX)[:1], slot)
    assert msgspec.json.decode(record.versions)["machine"]["scale"] == 2.0
    assert "scale" not in msgspec.json.decode(plain.versions)["machine"]
    here = jobs[0].scaled(2.0)
    assert here.first.limit is None
    assert (str(here.limit), str(here.second.limit)) == ("10/move", "120+1")


def test_what_bots_print_comes_to_the_machine_of_the_coordinator(
    jobs_of: JobsOf, pool: ClusterPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARENA_HOME", str(tmp_path / "coordinator"))
    jobs = jobs_of(config("random", "strange:talk=on", rounds=2, bot_output="all"))
    records = play_all(pool, jobs)
    label = next(bot.label for bot in (jobs[0].first, jobs[0].second) if bot.label.startswith("strange"))
    lines = list(read_prints(jobs[0].tournament_name, label))
    assert {line.partition(" ")[0] for line in lines} == {str(job.number) for job in jobs}
    strange = [job.second.label == label for job in jobs]
    plies = sum(
        ply % 2 == is_second
        for record, is_second in zip(records, strange, strict=True)
        for ply in range(record.num_opening, len(record.actions))
    )
    assert len(lines) == plies


@contextmanager
def slot_of(cluster: PrivateCluster, folder: Path, speed: float) -> Generator[Slot]:
    """Run an honest slot of another machine."""
    slot = Slot("d" * 32, 0, os.urandom(16).hex())
    key = cluster.place.key
    assert key is not None
    setup = SlotSetup(
        address=cluster.place.address,
        keys=str(key.path),
        slot=slot,
        facts=msgspec.structs.replace(find_facts(1, speed), name="other"),
        folder=str(folder),
        parent=os.getpid(),
        programs_roam=False,
    )
    command = own_python("-m", "arena.executor.cluster.slot")
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:  # noqa: S603 - our own program
        assert process.stdin is not None
        process.stdin.write(msgspec.json.encode(setup) + b"\n")
        process.stdin.close()
        yield slot
        process.kill()


def test_a_slot_that_lies_is_not_believed(
    jobs_of: JobsOf, cluster: PrivateCluster, pool: ClusterPool, tmp_path: Path
) -> None:
    with rogue(cluster, tmp_path) as slot:
        await_true(lambda: slot in pool.slots(), "the rogue does not join")
        for words in (
            "the opening",
            "the seed",
            "is illegal",
            "the tournament",
            "cannot be read",
            "more results",
        ):
            error = pool.submit(jobs_of(SIX), slot, nothing).exception(DEADLINE_S)
            assert isinstance(error, WrongResultError)
            assert words in str(error)
            assert error.slot == slot
        assert pool.put_aside(slot.machine, "it lies") == "rogue"
        assert pool.results() == []
        flood = pool.submit(jobs_of(SIX), slot, nothing)
        assert isinstance(flood.exception(DEADLINE_S), WorkerLostError), "the hub cuts it off"
        assert pool.results() == []
        assert len(play_all(pool, jobs_of(SIX))) == 6, "honest slots go on"


def test_without_its_scheduler_all_batches_fail_and_no_match_is_to_blame(
    jobs_of: JobsOf, tmp_path: Path
) -> None:
    with closing(PrivateCluster(1, tmp_path)) as own, joined(own, 1) as pool:
        future = pool.submit(jobs_of(SIX), pool.slots()[0], nothing)
        os.kill(own.pids[0], signal.SIGKILL)
        # The match may have ended before.
        error = future.exception(DEADLINE_S)
        assert error is None or isinstance(error, PoolLostError)
        await_true(lambda: pool.slots() == [], "the slot is still there")
        assert any("is gone; the run waits 10 min for it" in note for note in pool.notes())
        # A process closes its connections a moment before its parent can notice its end.
        death = "the scheduler of --cluster local:N ended with -9"
        await_true(lambda: death in own.find_death(), "the scheduler's death is not told")

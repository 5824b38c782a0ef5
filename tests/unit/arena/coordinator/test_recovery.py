from __future__ import annotations

from typing import TYPE_CHECKING

from arena.coordinator.recovery import Recovery
from arena.executor.worker import Began
from tournaments import TRIO, Sitting, config

if TYPE_CHECKING:
    from collections.abc import Callable

    from arena.coordinator.config import TournamentConfig
    from arena.executor.job import Job

    Begin = Callable[[TournamentConfig], Sitting]


def numbers(jobs: list[Job]) -> list[int]:
    return [job.number for job in jobs]


def test_only_the_last_match_of_each_worker_is_a_suspect(begin: Begin) -> None:
    jobs = begin(config(*TRIO)).jobs()
    recovery = Recovery()
    for worker, number in ((10, 1), (20, 4), (10, 2), (10, 3)):
        recovery.began(Began(worker, number))
    assert numbers(recovery.playing(jobs)) == [3, 4]
    assert numbers(recovery.playing(jobs[:3])) == [3]


def test_the_third_loss_proves_guilt_and_the_second_isolates(begin: Begin) -> None:
    guilty, innocent, unlucky, *_ = jobs = begin(config(*TRIO)).jobs()
    recovery = Recovery()
    for beside in (innocent, unlucky):
        assert not recovery.must_be_alone(guilty)
        recovery.began(Began(1, guilty.number))
        recovery.began(Began(2, beside.number))
        assert recovery.lost(jobs) == []
        assert recovery.playing(jobs) == []
    assert [recovery.must_be_alone(job) for job in (guilty, innocent, unlucky)] == [True, False, False]
    recovery.began(Began(3, guilty.number))
    assert recovery.lost(jobs) == [guilty]

"""What follows when a connection to the scheduler is lost while the scheduler lives on."""

from __future__ import annotations

from concurrent.futures import wait
from contextlib import closing
from typing import TYPE_CHECKING

from arena.executor.cluster.key_files import SchedulerPlace
from arena.executor.cluster.pool import ClusterPool
from arena.executor.slots import PoolLostError
from cluster_pools import DEADLINE_S, SIX, WANTED, await_true, begin, nothing, waiting
from loopback_machines import Delay

if TYPE_CHECKING:
    from pathlib import Path

    from arena.executor.cluster.private import PrivateCluster
    from cluster_pools import JobsOf


def test_a_run_goes_on_over_another_connection(
    jobs_of: JobsOf, cluster: PrivateCluster, tmp_path: Path
) -> None:
    line = Delay(int(cluster.place.address.rpartition(":")[2]), 0)
    place = SchedulerPlace(f"tls://127.0.0.1:{line.port}", cluster.place.key)
    with closing(ClusterPool(place, WANTED)) as pool:
        await_true(lambda: len(pool.slots()) == 2, "slots do not join")
        future = begin(pool, waiting(jobs_of, tmp_path), pool.slots()[0])
        line.cut()
        assert isinstance(future.exception(DEADLINE_S), PoolLostError)
        (tmp_path / "gate").touch()
        await_true(lambda: len(pool.slots()) == 2, "no connection is made again")
        played: set[int] = set()
        for slot in pool.slots():
            # A slot may be killed meanwhile, since its match was aborted.
            wait([pool.submit(jobs_of(SIX), slot, nothing)], DEADLINE_S)
            played |= {record.number for part in pool.results() for record in part}
        assert played == {1, 2, 3, 4, 5, 6}

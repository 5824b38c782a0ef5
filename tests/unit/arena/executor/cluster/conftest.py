"""Real slots of this machine, a real scheduler on loopback."""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

import strange_bots
from arena.executor.cluster.private import PrivateCluster
from cluster_pools import joined
from source_tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from arena.executor.cluster.pool import ClusterPool


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrivateCluster]:
    """Run a cluster whose slots know the bot `strange` as well."""
    folder = tmp_path_factory.mktemp("cluster")
    with pytest.MonkeyPatch.context() as patch:
        strange_bots.install(patch, folder / "site")
        patch.setenv("PYTHONPATH", os.pathsep.join([str(folder / "site"), str(ROOT / "tests" / "support")]))
        patch.setenv("ARENA_HOME", str(folder / "home"))
        with closing(PrivateCluster(2, folder)) as found:
            yield found


@pytest.fixture
def pool(cluster: PrivateCluster) -> Iterator[ClusterPool]:
    with joined(cluster) as found:
        yield found

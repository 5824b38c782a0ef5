from __future__ import annotations

import os
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux pins processes to cores")


@pytest.fixture(scope="module")
def claimed() -> frozenset[int]:
    """Claim a core as play in this process does; return the remaining cores."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    return frozenset(os.sched_getaffinity(0))


def test_a_core_that_a_fixture_claimed_is_not_kept_by_the_tests_after_it(claimed: frozenset[int]) -> None:
    # The parent process plays nothing and keeps all cores.
    allowed = os.sched_getaffinity(os.getppid())
    assert len(claimed) == 1
    assert os.sched_getaffinity(0) == allowed

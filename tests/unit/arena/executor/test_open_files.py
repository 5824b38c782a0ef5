"""The limit of open files is raised, never lowered, up to what the system permits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from arena.executor.open_files import allow_files

resource = pytest.importorskip("resource", reason="Windows has no such limit")

if TYPE_CHECKING:
    from collections.abc import Generator


@pytest.fixture
def hard() -> Generator[int]:
    """Set a soft limit of 512, and yield the hard limit."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, before[1]))
    yield before[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def limits() -> tuple[int, int]:
    return resource.getrlimit(resource.RLIMIT_NOFILE)


def test_the_limit_is_raised_and_never_lowered(hard: int) -> None:
    allow_files(700)
    assert limits() == (700, hard)
    allow_files(600)
    assert limits() == (700, hard)


def test_the_limit_of_the_system_is_not_exceeded(hard: int) -> None:
    if hard == resource.RLIM_INFINITY:
        allow_files(1 << 20)
        assert limits()[0] in {512, 1 << 20}
        return
    allow_files(hard + 1)
    assert limits() == (hard, hard)
